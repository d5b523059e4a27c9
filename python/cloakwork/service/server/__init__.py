"""The side that runs programs for others, and has nothing that decrypts."""
