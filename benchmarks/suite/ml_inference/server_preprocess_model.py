"""Nothing: the evaluator's file has the weights."""
