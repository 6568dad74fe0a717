"""Answers of the API and data of webhooks, declared field by field."""
