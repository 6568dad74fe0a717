"""Monthly statements for accountants: pages, files, and links for guests."""
