"""Payments and payouts: lists, exports, detail pages and actions."""
