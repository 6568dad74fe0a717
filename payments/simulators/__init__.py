"""Simulated acquirer and bank for testing the real connectors. They keep books and can inject faults."""
