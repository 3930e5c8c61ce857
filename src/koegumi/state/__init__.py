"""What the server keeps on disk: the user dictionary, presets, settings."""
