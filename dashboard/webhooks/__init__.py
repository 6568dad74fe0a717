"""Webhooks: the endpoint and its key, every delivery and attempt, and sending again."""
