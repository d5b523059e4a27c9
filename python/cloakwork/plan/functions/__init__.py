"""Functions of encrypted numbers: what comes near to them, over the ranges that numbers have."""
