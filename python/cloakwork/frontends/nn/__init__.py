"""PyTorch networks on encrypted inputs."""
