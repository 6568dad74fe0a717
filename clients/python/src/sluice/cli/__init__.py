"""The command-line tool `sluice`. Each command is a module."""
