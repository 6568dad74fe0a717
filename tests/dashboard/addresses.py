"""The rows and forms with which tests use the addresses of the dashboard."""

from tests.addresses import path_of
from tests.links import CHANGED_LINK, NEW_LINK

# The row that a parameter names, and where it names another one.
ROWS = {
    "transaction_id": "payment", "payment_id": "attempt", "refund_id": "refund", "link_id": "link",
    "account_id": "account", "unapplied_id": "unapplied", "batch_id": "batch", "delivery_id": "delivery",
    "exam_id": "exam", "call_id": "call", "key_id": "key", "member_id": "member", "invitation_id": "invitation", "token": "token",
    "beneficiary_id": "beneficiary", "item_id": "item", "change_id": "change", "account_change_id": "account_change", "view_id": "view", "dispute_id": "dispute", "evidence_id": "evidence", "session_id": "session", "pk": "passkey",
    "endpoint_id": "endpoint", "invoice_id": "invoice", "guest_link_id": "guest_link",
}  # fmt: skip
OTHER_ROWS = {
    "dashboard/payments/<uuid:transaction_id>/capture/": {"transaction_id": "authorised"},
    "dashboard/payments/<uuid:transaction_id>/void/": {"transaction_id": "authorised"},
    "dashboard/payments/<uuid:transaction_id>/cancel/": {"transaction_id": "challenged"},
    "dashboard/payouts/<uuid:transaction_id>/": {"transaction_id": "payout"},
    "dashboard/payouts/<uuid:transaction_id>/approval/": {"transaction_id": "waiting"},
    "dashboard/sandbox/expire/<uuid:transaction_id>/": {"transaction_id": "authorised"},
    "dashboard/team/<int:member_id>/remove/": {"member_id": "leaver"},
    "dashboard/webhooks/endpoints/<uuid:endpoint_id>/delete/": {"endpoint_id": "unwanted_endpoint"},
}
OTHER_ROWS |= {
    f"dashboard/payouts/batches/<uuid:batch_id>/{rest}": {"batch_id": "payout_batch"}
    for rest in (
        "",
        "approve/",
        "decide/",
        "cancel/",
        "retry/",
        "payouts.<file_type:file_type>",
        "items/<uuid:item_id>/",
    )
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
    "dashboard/payouts/beneficiaries/new/": {
        "reference": "kano",
        "bank_code": "058",
        "account_number": "0123456789",
        "name": "Kano Dye Works",
    },
    "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/": {"name": "Kano Dye Works Ltd"},
    "dashboard/payouts/beneficiaries/<uuid:beneficiary_id>/block/": {"reason": "Forged invoice"},
    "dashboard/payouts/batches/new/": {
        "reference": "wk48",
        "title": "Suppliers",
        "currency": "NGN",
        "rows": "Name\tBank\tAccount\tAmount\nAda Obi\t058\t0123456789\t10",
    },
    "dashboard/payouts/batches/<uuid:batch_id>/items/<uuid:item_id>/": {"decision": "remove"},
    "dashboard/disputes/<uuid:dispute_id>/": {"kind": "delivery", "text": "Handed over to Ada Obi"},
    "dashboard/disputes/<uuid:dispute_id>/accept/": {"amount": "1", "step": "confirmed"},
    "dashboard/payment-links/new/": NEW_LINK,
    "dashboard/payment-links/<uuid:link_id>/edit/": CHANGED_LINK,
    "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/": {
        "decision": "credit",
        "reason": "Came too late",
        "step": "confirmed",
    },
    "dashboard/webhooks/": {"url": "http://127.0.0.1:9/hooks", "payment": "on", "enabled": "on"},
    "dashboard/webhooks/rotate/": {"made": "{key_made_at}"},
    "dashboard/webhooks/endpoints/new/": {
        "url": "http://127.0.0.1:9/new",
        "events": "payment",
        "api_version": "2026-11-01",
    },
    "dashboard/webhooks/endpoints/<uuid:endpoint_id>/edit/": {
        "url": "http://127.0.0.1:9/changed",
        "events": "refund.success",
        "api_version": "2026-11-01",
    },
    "dashboard/webhooks/endpoints/<uuid:endpoint_id>/rotate/": {"made": "{key_made_at}"},
    "dashboard/webhooks/exam/<uuid:exam_id>/acted/": {"acted": "1"},
    "dashboard/webhooks/replay/": {"state": "dead", "since": "2026-01-01", "until": "2026-01-02"},
    "dashboard/webhooks/deliveries/resend/": {"delivery": "{delivery}"},
    "dashboard/payouts/<uuid:transaction_id>/approval/": {"decision": "reject", "reason": "Unknown supplier"},
    "dashboard/settings/close/": {},
    "dashboard/settings/payouts/": {"approval": "never", "keys_need_approval": "on"},
    "dashboard/settings/payouts/changes/<uuid:change_id>/": {"decision": "withdraw"},
    "dashboard/settings/settlement-account/": {"group": "schedule", "pays": "daily"},
    "dashboard/settings/settlement-account/changes/<uuid:account_change_id>/": {"decision": "stop"},
    "dashboard/balance/statements/links/new/": {
        "name": "Auditors",
        "first": "{month}",
        "last": "{month}",
        "days": "30",
    },
    "dashboard/settings/payments/": {"group": "minimum", "minimum_amounts": "NGN 100.00"},
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
