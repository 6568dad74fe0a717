"""Payments and payouts: lists, exports, a page for each, and what people do to them."""
