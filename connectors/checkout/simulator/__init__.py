"""Simulated Checkout.com, written from what the provider publishes and not from our connector. It keeps books and injects faults.

"Guess" marks what no source says: such behaviour is a field of `control.settings.Variants`, or is named where it is decided.
"""
