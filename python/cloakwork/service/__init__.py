"""A service: programs that one machine runs, on what others have encrypted.

`cloakwork serve` answers requests (`server`), `cloakwork.connect` makes them (`client`). A server
has programs, evaluation keys and ciphertexts, and no secret key: nothing here can read one.
"""
