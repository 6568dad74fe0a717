"""The provider's books, and the money that leaves: transfers to banks, and settlements."""
