"""Samples to files: volume, rate, channels, encoding."""
