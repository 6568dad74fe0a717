"""The interface of the simulated Checkout.com: calls, and what they answer."""
