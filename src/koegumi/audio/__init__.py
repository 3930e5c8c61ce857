"""From a voice's samples to what a client gets."""

from koegumi.audio.wav import at_rate, finish

__all__ = ["at_rate", "finish"]
