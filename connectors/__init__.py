"""Connectors to providers, one package each, with a simulator of each provider."""
