"""Formats of dates and times that Django writes: `FORMAT_MODULE_PATH`."""
