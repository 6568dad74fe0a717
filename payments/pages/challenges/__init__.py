"""Pages on which payers do what the acquirer asks for."""
