"""Checkout.com's interface: calls, bodies, answers, references and codes."""
