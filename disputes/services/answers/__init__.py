"""The answer of a business: evidence, what we add, and how it is given."""
