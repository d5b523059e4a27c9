"""A server: how its answers, its throughput and what it says of waiting hold under load."""
