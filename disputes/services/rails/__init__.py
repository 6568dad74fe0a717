"""Disputes at providers with an API for them: queries about cases, and answers to them."""
