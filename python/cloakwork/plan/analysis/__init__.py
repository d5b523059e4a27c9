"""What a slot program needs before it runs: precision, headroom, memory."""
