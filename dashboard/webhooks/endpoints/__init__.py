"""Endpoints: the list, the page of one, its health, and what is mailed about it."""
