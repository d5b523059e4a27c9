"""Nothing: the evaluator's file has the weights, which are encoded as they are needed."""

from pathlib import Path

if __name__ == "__main__":
    # Where the harness measures what the server keeps.
    Path("io", "server_data").mkdir(parents=True, exist_ok=True)
