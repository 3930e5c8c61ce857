"""The frames between the front and its workers."""
