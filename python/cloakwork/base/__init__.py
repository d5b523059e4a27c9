"""What every floor above may use and no user sees."""
