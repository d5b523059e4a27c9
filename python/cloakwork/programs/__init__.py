"""The forms that everything computed is written in."""
