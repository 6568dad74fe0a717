"""How staff decide: at once, about several rows, or by two people."""
