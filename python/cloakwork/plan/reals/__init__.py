"""What plans of reals have in common: what is asked of them, the rings, bootstraps, precision."""
