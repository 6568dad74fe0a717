"""The sandbox page: example requests for each flow, with their signature, response and webhooks."""
