"""The API of events, of endpoints, and of what tests them."""
