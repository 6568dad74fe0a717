"""Deliveries: the list, its export, the page of one, and resending."""
