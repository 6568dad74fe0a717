"""The allowed transitions of a batch, and what each state is called."""

BATCH_TRANSITIONS = {
    "checking": ["ready", "needs_correction", "cancelled"],
    "needs_correction": ["checking", "ready", "cancelled"],
    "ready": ["checking", "awaiting_approval", "scheduled", "processing", "cancelled"],
    "awaiting_approval": ["scheduled", "processing", "cancelled"],
    "scheduled": ["processing", "cancelled"],
    "processing": ["completed", "cancelled"],
}
BATCH_NAMES = {
    "checking": "Checking",
    "needs_correction": "Needs correction",
    "ready": "Ready",
    "awaiting_approval": "Awaiting approval",
    "scheduled": "Scheduled",
    "processing": "Sending",
    "completed": "Completed",
    "cancelled": "Cancelled",
}
ITEM_NAMES = {
    "checking": "Checking",
    "ok": "OK",
    "name_differs": "Name differs",
    "unverified": "Not verified",
    "unknown_account": "Unknown account",
    "duplicate": "Duplicate",
    "over_limit": "Over limit",
    "held": "Held",
    "cancelled": "Cancelled",
    "pending": "Pending",
    "success": "Succeeded",
    "failed": "Failed",
}
