"""What the results of a step of a decoder are called."""

FEATURES = "features"
# Before the name of the input that a result is at the next step.
NEXT = "next_"
