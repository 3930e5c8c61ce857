"""The prepared folder: what `prepare` writes and all else only reads."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from koegumi.voices.current import current_folder
from koegumi.voices.interface import NotPrepared, Places

# Grows when the folder's content changes its meaning; older folders are then made anew.
LAYOUT = 3
SAMPLES_PER_STYLE = 3


@dataclass(frozen=True)
class Prepared:
    """Paths inside `<cache>/kokoro/<model's hash>-<layout>/`."""

    root: Path

    @property
    def speakers(self) -> Path:
        return self.root / "speakers.json"

    @property
    def vocabulary(self) -> Path:
        return self.root / "vocabulary.json"

    @property
    def voices(self) -> Path:
        return self.root / "voices.npz"

    @property
    def encoder(self) -> Path:
        return self.root / "encoder.onnx"

    @property
    def prosody(self) -> Path:
        return self.root / "prosody.onnx"

    @property
    def original_decoder(self) -> Path:
        """As it came, from which those for the devices are made."""
        return self.root / "decoder.onnx"

    def decoder(self, device: str) -> Path:
        """The decoder for cpu or cuda."""
        return self.root / f"decoder-{device}.onnx"

    def require_decoder(self, device: str) -> Path:
        """The same, which must be there. Raises NotPrepared."""
        decoder = self.decoder(device)
        if not decoder.is_file():
            raise NotPrepared(f"Kokoro's decoder for {device} is missing: run `koegumi prepare --device {device}`")
        return decoder

    def packed(self, key: str) -> Path:
        """A folder of the models as the machines of this key lay them out in memory."""
        return self.root / f"packed-{key}"

    def portrait(self, voice: str) -> Path:
        return self.root / "portraits" / f"{voice}.png"

    def icon(self, style_id: int) -> Path:
        return self.root / "icons" / f"{style_id}.png"

    def sample(self, style_id: int, number: int) -> Path:
        return self.root / "samples" / f"{style_id}_{number:03}.wav"


def family_folder(places: Places) -> Path:
    return places.cache_dir / "kokoro"


def find_prepared(places: Places) -> Prepared:
    """The folder that was prepared last. Raises NotPrepared."""
    folder = family_folder(places)
    current = current_folder(folder, LAYOUT)
    if current is None:
        raise NotPrepared(f"the Kokoro voices are not prepared in {folder}: run `koegumi prepare`")
    return Prepared(current)
