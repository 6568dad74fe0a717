"""An acquirer and a bank to try the real connectors on: processes that keep books and can misbehave."""
