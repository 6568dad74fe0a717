"""What payments and payouts share: filters, lists, exports, the detail page and its timeline."""
