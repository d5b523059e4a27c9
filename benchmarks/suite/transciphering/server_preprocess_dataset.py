"""Nothing: what is enciphered stands in the programs."""
