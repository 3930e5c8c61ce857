"""From a voice's samples to what a client gets."""

from koegumi.audio.wav import finish

__all__ = ["finish"]
