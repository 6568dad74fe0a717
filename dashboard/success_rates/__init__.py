"""Success rates of payments by method, bank and first six digits of a card, and notices when one falls."""
