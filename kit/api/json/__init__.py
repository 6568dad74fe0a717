"""JSON: parsed strictly or leniently, and written."""
