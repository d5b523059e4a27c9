"""What all rooms use: arguments, arrays, records, the cache, progress."""
