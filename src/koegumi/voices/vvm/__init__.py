"""VOICEVOX's model format: VVM files, as they are or as folders of their members."""

from koegumi.voices.vvm.family import FAMILY

__all__ = ["FAMILY"]
