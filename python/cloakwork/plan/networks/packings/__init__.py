"""How the values of a network lie in slots: what each stage may have, and what costs least."""
