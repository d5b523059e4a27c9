"""Plans products of encrypted matrices as rotated products of blocks."""
