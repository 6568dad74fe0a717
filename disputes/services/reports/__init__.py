"""What acquirers report about cases, and what becomes of it."""
