"""The database of a process: migrations, new tables and lock timeouts."""
