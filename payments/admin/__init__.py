"""Payments as our own staff see them."""

from payments.admin import batches, fees, transactions

__all__ = ["batches", "fees", "transactions"]
