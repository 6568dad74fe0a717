"""What a test or a person at a terminal sets: settings, faults, and commands."""
