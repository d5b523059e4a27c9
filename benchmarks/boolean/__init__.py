"""Programs over bits."""
