"""Icons and portraits: initials on a coloured ground, for voices that come without a picture."""

from __future__ import annotations

import colorsys
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ICON = (256, 256)
PORTRAIT = (500, 700)


def draw(target: Path, initials: str, hue: float, size: tuple[int, int]) -> None:
    """Write a PNG of `size`; `hue` from 0 to 1."""
    image = Image.new("RGB", size, _colour(hue, 0.92))
    canvas = ImageDraw.Draw(image)
    radius = min(size) * 0.42
    middle = (size[0] / 2, size[1] / 2)
    canvas.ellipse([middle[0] - radius, middle[1] - radius, middle[0] + radius, middle[1] + radius], _colour(hue, 0.45))
    canvas.text(middle, initials, fill="white", font=ImageFont.load_default(size=radius), anchor="mm")
    image.save(target)


def _colour(hue: float, lightness: float) -> tuple[int, int, int]:
    red, green, blue = colorsys.hls_to_rgb(hue, lightness, 0.55)
    return round(255 * red), round(255 * green), round(255 * blue)
