"""Services of cash: bank accounts and imports of statements."""
