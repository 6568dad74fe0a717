"""Keys, requests and signatures."""
