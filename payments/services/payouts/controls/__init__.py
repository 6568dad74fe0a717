"""What protects a business's payouts before they are sent."""
