"""Settings of the business: its look, support contact and time zone, and what API keys may do."""
