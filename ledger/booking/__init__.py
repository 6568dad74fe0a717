"""Booking: accounts at first use, entries, and the triggers that guard both."""
