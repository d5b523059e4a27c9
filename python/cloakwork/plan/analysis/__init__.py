"""What is known of a slot program before it runs: precision, headroom, memory."""
