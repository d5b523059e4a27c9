"""The exit codes of the command line beside 0."""

REFUSED = 2
INTERRUPTED = 130
