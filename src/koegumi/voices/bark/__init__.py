"""Suno's Bark: sentences to sound by four models, many at a time, from weights that the user brings."""

from koegumi.voices.bark.family import FAMILY

__all__ = ["FAMILY"]
