"""BERT on pairs of sentences: the stages, each a process of its own, which meet in files alone."""
