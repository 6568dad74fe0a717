"""What a test or a person at a terminal sets: the clock, faults, variants, and commands."""
