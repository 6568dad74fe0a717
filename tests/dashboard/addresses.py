"""The rows and forms with which tests use the addresses of the dashboard."""

from tests.addresses import path_of
from tests.links import CHANGED_LINK, NEW_LINK

# The row that a parameter names, and where it names another one.
ROWS = {
    "transaction_id": "payment", "payment_id": "attempt", "refund_id": "refund", "link_id": "link",
    "account_id": "account", "unapplied_id": "unapplied", "batch_id": "batch", "delivery_id": "delivery",
    "exam_id": "exam", "key_id": "key", "member_id": "member", "invitation_id": "invitation", "token": "token",
    "view_id": "view", "session_id": "session", "pk": "passkey",
}  # fmt: skip
OTHER_ROWS = {
    "dashboard/payments/<uuid:transaction_id>/capture/": {"transaction_id": "authorised"},
    "dashboard/payments/<uuid:transaction_id>/void/": {"transaction_id": "authorised"},
    "dashboard/payments/<uuid:transaction_id>/cancel/": {"transaction_id": "challenged"},
    "dashboard/payouts/<uuid:transaction_id>/": {"transaction_id": "payout"},
    "dashboard/sandbox/expire/<uuid:transaction_id>/": {"transaction_id": "authorised"},
    "dashboard/team/<int:member_id>/remove/": {"member_id": "leaver"},
}
# Fields that pass validation. Other forms need none.
FORMS = {
    "dashboard/business/": {"business": "{business}"},
    "dashboard/payments/<uuid:transaction_id>/capture/": {"amount": "1"},
    "dashboard/payments/<uuid:transaction_id>/refund/": {
        "reference": "refund-1",
        "amount": "1",
        "step": "confirmed",
    },
    "dashboard/payments/<uuid:transaction_id>/notes/": {"text": "Called the customer"},
    "dashboard/payouts/new/": {
        "step": "confirmed",
        "reference": "by-hand",
        "currency": "NGN",
        "amount": "2500",
        "bank_code": "058",
        "account_number": "0123456789",
        "name": "Ada Obi",
    },
    "dashboard/payment-links/new/": NEW_LINK,
    "dashboard/payment-links/<uuid:link_id>/edit/": CHANGED_LINK,
    "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/": {
        "decision": "credit",
        "reason": "Came too late",
    },
    "dashboard/webhooks/": {"url": "http://127.0.0.1:9/hooks", "payment": "on", "enabled": "on"},
    "dashboard/webhooks/rotate/": {"made": "{key_made_at}"},
    "dashboard/webhooks/exam/<uuid:exam_id>/acted/": {"acted": "1"},
    "dashboard/webhooks/replay/": {"state": "dead", "since": "2026-01-01", "until": "2026-01-02"},
    "dashboard/webhooks/deliveries/resend/": {"delivery": "{delivery}"},
    "dashboard/settings/": {"group": "zone", "time_zone": "Africa/Accra"},
    "dashboard/developers/keys/new/": {"name": "till", "access": "full"},
    "dashboard/developers/keys/<int:key_id>/rotate/": {"overlap": "24"},
    "dashboard/team/invite/": {"email": "new@example.com", "role": "viewer"},
    "dashboard/team/<int:member_id>/": {"role": "finance"},
    "dashboard/views/": {"list": "payments", "name": "Failed", "query": "status=failed"},
    "dashboard/views/<int:view_id>/": {"name": "Renamed"},
}


def filled_path(route, rows):
    """Return the path of a route to the rows of a test."""
    named = ROWS | OTHER_ROWS.get(route, {})
    values = {parameter: rows[row] for parameter, row in named.items() if row in rows}
    return path_of(route, **values)


def filled_form(route, rows):
    """Return the fields that a form of this address is submitted with."""
    return {name: str(value).format_map(rows) for name, value in FORMS.get(route, {}).items()}
