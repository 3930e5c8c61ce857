"""Koegumi: a multi-worker text-to-speech HTTP server that speaks VOICEVOX ENGINE's API."""

__version__ = "0.1.0"
