"""Who belongs to a business."""
