"""Nothing: round keys follow from the key where they are encrypted."""
