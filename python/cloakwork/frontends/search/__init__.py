"""Encrypted search: tables of vectors, and the rows that are near to an encrypted query."""
