"""Pay many: batches of payouts from a spreadsheet, reviewed, approved and followed."""
