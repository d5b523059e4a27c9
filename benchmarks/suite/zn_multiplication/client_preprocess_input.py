"""Nothing: numbers become digits where they are encrypted."""
