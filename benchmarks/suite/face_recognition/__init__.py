"""Whether two faces are one person's, by CryptoFace: the stages, which meet in files."""
