"""Networks on encrypted inputs."""
