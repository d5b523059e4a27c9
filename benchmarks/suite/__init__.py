"""Workloads of the public benchmark suite of HomomorphicEncryption.org, run by its own harness."""
