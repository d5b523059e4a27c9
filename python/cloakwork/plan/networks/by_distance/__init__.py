"""Products of every token with every other, as of queries and keys, by the distance of tokens."""
