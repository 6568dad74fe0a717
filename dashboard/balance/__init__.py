"""The wallet: its balance and its statement."""
