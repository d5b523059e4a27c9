"""MNIST by a network of three layers: the stages, each a process, which meet in files."""
