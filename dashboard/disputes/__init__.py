"""Disputes: the list by deadline, and the page where a dispute is answered."""
