"""Answers and events about payments in the form that Checkout.com publishes."""

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.state import (
    Account,
    Action,
    Document,
    HostedPage,
    Payment,
    Stage,
    timestamp,
    without_empty,
)

PAGE_MEMBERS = (
    *("amount", "currency", "reference", "description", "billing", "customer", "products", "metadata"),
    *("success_url", "cancel_url", "failure_url"),
)
KEPT_MEMBERS = ("description", "billing_descriptor", "payment_ip", "metadata")
ECI = {"Y": "05", "A": "06"}  # by the result of 3-D Secure
RISKY = "10100"  # approved, but flagged


def summary(code: str) -> str:
    return tables.SUMMARIES.get(code, "Approved" if code in tables.APPROVALS else "Declined")


def answer(account: Account, payment: Payment) -> tuple[int, Document]:
    """Return the answer to the request that made a payment."""
    action = payment.last_attempt
    if payment.stage is Stage.PENDING or action is None:
        links = {"self": _link(account, payment), "redirect": account.link("3ds", payment.session)}
        return 202, _common(account, payment) | {"status": "Pending", "_links": links}
    is_captured = payment.order.get("capture", True) and payment.stage is Stage.AUTHORIZED
    return 201, _common(account, payment) | without_empty(
        {
            "action_id": action.id,
            "amount": action.amount,
            "currency": payment.currency,
            "approved": action.approved,
            "status": account.variants.automatic_capture if is_captured else payment.status,
            "auth_code": action.auth_code,
            "response_code": action.code,
            "response_summary": summary(action.code),
            "processed_on": timestamp(action.processed_on),
            "processing": _processing(action) | without_empty({"recommendation_code": action.recommendation}),
            **_outcome(payment),
        }
    )


def details(account: Account, payment: Payment, *, with_actions: bool = False) -> Document:
    """Return a payment as its query does. The reason of a decline is only in its actions."""
    action = payment.last_attempt
    shown = ("id", "type", "response_code", "response_summary")
    summaries = [{name: action_document(one)[name] for name in shown} for one in listed(account, payment)]
    three_ds = (
        payment.three_ds | {"version": "2.2.0"} if "challenged" in payment.three_ds else payment.three_ds
    )
    return _common(account, payment) | without_empty(
        {
            "requested_on": timestamp(payment.requested_on),
            "amount": action.amount if action and action.approved else payment.amount,
            "currency": payment.currency,
            "payment_type": "Regular",
            "approved": payment.stage in {Stage.AUTHORIZED, Stage.VERIFIED, Stage.EXPIRED},
            "status": payment.status,
            **{name: payment.order.get(name) for name in KEPT_MEMBERS},
            "actions": summaries if with_actions else None,
            **_outcome(payment),
            "3ds": three_ds,
        }
    )


def _common(account: Account, payment: Payment) -> Document:
    links = {"self": _link(account, payment), "actions": _link(account, payment, "actions")}
    if payment.capturable:
        links |= {"capture": _link(account, payment, "captures"), "void": _link(account, payment, "voids")}
    if payment.refundable:
        links |= {"refund": _link(account, payment, "refunds")}
    told = {"id": payment.id, "reference": payment.reference, "customer": payment.customer}
    return without_empty({**told, "3ds": _enrollment(payment), "_links": links})


def _outcome(payment: Payment) -> Document:
    action = payment.last_attempt
    return {
        "expires_on": timestamp(payment.expires_on) if payment.expires_on else None,
        "source": payment.card.source | without_empty({"id": payment.stored_card}),
        "balances": _balances(payment),
        "risk": {"flagged": bool(action and action.code == RISKY)},
        "eci": ECI.get(payment.three_ds.get("authentication_response", ""), "07"),
        "scheme_id": f"{action.number:015}" if action else None,
    }


def listed(account: Account, payment: Payment) -> list[Action]:
    """Return the actions that Checkout.com shows, newest first."""
    shows_all = account.variants.undecided_action == "listed"
    return [one for one in reversed(payment.actions) if shows_all or one.approved is not None]


def action_document(action: Action) -> Document:
    return without_empty(
        {
            "id": action.id,
            "type": action.type,
            "processed_on": timestamp(action.processed_on or action.requested_on),
            "amount": action.amount,
            "approved": action.approved,
            "auth_code": action.auth_code,
            "response_code": action.code,
            "response_summary": summary(action.code),
            "reference": action.reference,
            "processing": _processing(action) | {"acquirer_reference_number": action.arn},
            "metadata": action.metadata,
        }
    )


def operation_answer(account: Account, payment: Payment, action: Action) -> Document:
    links = {"payment": _link(account, payment)}
    return without_empty({"action_id": action.id, "reference": action.reference, "_links": links})


def page_answer(account: Account, page: HostedPage) -> Document:
    links = _page_links(account, page)
    return without_empty({"id": page.id, "reference": page.order.get("reference"), "_links": links})


def page_details(account: Account, page: HostedPage) -> Document:
    payment, links = page.received or next(reversed(page.payments), ""), _page_links(account, page)
    if page.received:
        links["payment"] = account.link("payments", payment)
        links["payment_actions"] = account.link("payments", payment, "actions")
    shown = {name: page.order.get(name) for name in PAGE_MEMBERS}
    status = page.status(account.clock.now())
    return without_empty({"id": page.id, "status": status, "payment_id": payment, **shown, "_links": links})


def event_data(account: Account, payment: Payment, action: Action | None) -> Document:
    """Return the data of a payment's event, whose card has other names than in the API."""
    source = {name: value for name, value in payment.card.source.items() if name != "last4"}
    is_told = account.variants.channel_in_events == "present"
    of_action = action_document(action) if action else {}
    members = ("processed_on", "auth_code", "response_code", "response_summary", "processing")
    return without_empty(
        {
            "id": payment.id,
            "action_id": of_action.get("id"),
            "reference": of_action.get("reference") or payment.reference,
            "amount": action.amount if action else payment.amount,
            "currency": payment.currency,
            **{name: of_action.get(name) for name in members},
            "processing_channel_id": account.identity.channel if is_told else None,
            "balances": _balances(payment),
            "3ds": _enrollment(payment),
            "metadata": of_action.get("metadata") or payment.order.get("metadata"),
            "source": source | {"last_4": payment.card.last4},
        }
    )


def _enrollment(payment: Payment) -> Document:
    shown = ("downgraded", "enrolled", "upgrade_reason")
    return {name: value for name, value in payment.three_ds.items() if name in shown}


def _balances(payment: Payment) -> Document | None:
    return (
        None
        if not payment.authorized
        else {
            "total_authorized": payment.authorized,
            "total_voided": payment.voided,
            "available_to_void": payment.capturable,
            "total_captured": payment.captured,
            "available_to_capture": payment.capturable,
            "total_refunded": payment.refunded,
            "available_to_refund": payment.refundable,
        }
    )


def _processing(action: Action) -> Document:
    rrn, theirs = f"{action.number:012}", f"{action.number:021}"
    return {"retrieval_reference_number": rrn, "acquirer_transaction_id": theirs}


def _link(account: Account, payment: Payment, *path: str) -> Document:
    return account.link("payments", payment.id, *path)


def _page_links(account: Account, page: HostedPage) -> Document:
    return {"self": account.link("hosted-payments", page.id), "redirect": account.link("page", page.id)}
