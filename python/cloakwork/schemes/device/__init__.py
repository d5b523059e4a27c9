"""CKKS on a GPU: devices, the backend there, and what stays there between runs."""
