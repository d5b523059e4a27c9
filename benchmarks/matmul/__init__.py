"""Products of encrypted matrices: python -m benchmarks.matmul"""
