"""A service: programs that one machine runs, on what others have encrypted.

`cloakwork serve` answers requests (`app`), `cloakwork.connect` makes them (`remote`). A server has
programs, evaluation keys and ciphertexts, and no secret key: nothing here can read one.
"""
