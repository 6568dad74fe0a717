"""Settings of the business: time zone, accent colour, and what API keys may do."""
