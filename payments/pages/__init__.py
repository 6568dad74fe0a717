"""Pages that payers see."""
