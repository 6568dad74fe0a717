"""The global search: its terms, the indexer that writes them, queries and the page."""
