"""A simulated Paystack, written from its published documents and from what integrators have measured.

Comments name the source of a fact. [?] marks what no source says: `control/variants.py` offers each possible behaviour.
"""
