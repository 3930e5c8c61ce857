"""The Japanese front end: text to accent phrases."""
