"""Virtual accounts: list, page, new ones, switched off and on, and the money that fits nothing."""
