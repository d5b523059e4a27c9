"""How users say what to compute."""
