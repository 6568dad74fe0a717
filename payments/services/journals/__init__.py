"""Journals: corrections of accounts that staff book, and reverse."""
