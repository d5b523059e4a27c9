"""Products of encrypted matrices: reals by CKKS, integers by BGV."""
