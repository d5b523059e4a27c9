"""Deep networks on encrypted inputs."""
