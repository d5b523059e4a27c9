"""AES-128 deciphered by encrypted round keys: the stages, which meet in files."""
