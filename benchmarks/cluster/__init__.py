"""Programs on a cluster of this machine's processes, measured: python -m benchmarks.cluster"""
