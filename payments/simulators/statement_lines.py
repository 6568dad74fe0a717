"""Columns of the simulators' statements."""

COLUMNS = ("reference", "amount", "currency", "day", "direction")
IN, OUT = "in", "out"
