"""Reading, saving and deleting rows."""
