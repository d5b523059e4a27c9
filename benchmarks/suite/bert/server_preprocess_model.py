"""Nothing: the evaluator's file has the weights, which are encoded as they are needed."""
