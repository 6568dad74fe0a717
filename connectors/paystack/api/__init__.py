"""Paystack's interface: calls, codes and refusals."""
