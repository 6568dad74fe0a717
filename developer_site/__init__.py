"""The documentation for developers: OpenAPI document, reference, guides, search and collections."""
