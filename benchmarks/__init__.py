"""What Cloakwork costs, measured and checked."""
