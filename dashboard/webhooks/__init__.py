"""Webhooks: the endpoint and its signing key, deliveries with their attempts, and resending."""
