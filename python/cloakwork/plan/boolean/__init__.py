"""Maps gates onto programmable bootstraps and orders the bootstraps for threads."""
