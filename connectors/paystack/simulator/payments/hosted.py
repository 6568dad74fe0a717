"""Pages for payers: the hosted checkout, the bank's page of `open_url`, and where files of disputes are uploaded."""

from html import escape
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import Answer, Refused, Request, ok
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import cards, transactions
from connectors.paystack.simulator.records import Transaction

INPUTS = {  # step: inputs of its form
    "card": ("number", "expiry_month", "expiry_year", "cvv"),
    "address": ("address", "city", "state", "zip_code"),
}
PAYABLE = {"initialized", "failed", "timeout"}  # a checkout can be resumed after a failure [D1]
CLOSE = "/simulator/close"
# Buttons of the simulator's own, each with a test card.
TEST_CARDS = {
    "Pay with a test card": ("4084084084084081", "408"),
    "Pay at the bank": ("4084080000000409", "000"),
    "Be declined": ("4084080000670037", "787"),
}
HEAD = (
    '<meta charset="utf-8"><meta name="viewport" content="width=device-width"><link rel="icon" href="data:,">'
)
STYLE = "body{font:16px/1.5 system-ui;max-width:26rem;margin:3rem auto;padding:0 1rem}button{padding:.5rem .75rem}"


def initialize(integration: Integration, request: Request) -> Answer:
    if not request.text("email"):
        raise Refused("email")
    amount = cards.read_amount(integration, request)
    reference = request.text("reference")
    if reference in integration.tables.transactions:
        raise Refused("transaction_repeated")
    made = integration.new_transaction(reference=reference, amount=amount, email=request.text("email"))
    made.entry_point, made.callback_url = "transaction_initialize", request.text("callback_url")
    made.metadata = request.body.get("metadata") or ""
    made.access_code = f"{made.id:x}"[-15:]
    url = f"{integration.base_url}/checkout/{made.access_code}"
    data = {"authorization_url": url, "access_code": made.access_code, "reference": made.reference}
    return ok("Authorization URL created", data)


def show_checkout(integration: Integration, request: Request) -> Answer:
    paid = _by_access_code(integration, request)
    return _page(integration, paid) if paid else _missing()


def submit_checkout(integration: Integration, request: Request) -> Answer:
    """Take a form of the checkout. One that is submitted twice changes nothing the second time."""
    paid, form = _by_access_code(integration, request), _form(request)
    if paid is None:
        return _missing()
    if form.get("action") == "cancel":
        cancel_url = paid.metadata.get("cancel_action") if isinstance(paid.metadata, dict) else None
        return _redirect(str(cancel_url or CLOSE))
    try:
        _act(integration, paid, form)
    except Refused as refused:
        return html(_checkout_html(paid, refused.error.message))
    return _page(integration, paid)


def _act(integration: Integration, paid: Transaction, form: dict[str, str]) -> None:
    action = form.get("action", "")
    if action == "card" and paid.status in PAYABLE:
        cards.start(integration, paid, form)
    elif paid.status in cards.OPEN and action == paid.steps[0].kind:
        cards.take(integration, paid, paid.steps[0], form.get(action, ""))


def _page(integration: Integration, paid: Transaction) -> Answer:
    if paid.status == "success":
        return _redirect(return_address(paid))
    if paid.status == "open_url":
        return _redirect(cards.bank_address(integration, paid))
    return html(_checkout_html(paid, tables.GATEWAY.get(paid.gateway_code, ("", None))[0]))


def _checkout_html(paid: Transaction, message: str) -> str:
    if paid.status == "pending":
        return _titled(
            "Processing", '<meta http-equiv="refresh" content="2"><p>Your payment is being processed.</p>'
        )
    action = paid.steps[0].kind if paid.status in cards.OPEN else "card"
    inputs = "".join(
        f'<p><label>{name.replace("_", " ")} <input name="{name}" autocomplete="off"></label></p>'
        for name in INPUTS.get(action, (action,))
    )
    prompt = tables.ASKS[action][1] if action in tables.ASKS else "Enter your card"
    return _titled(
        f"Pay {paid.currency} {paid.amount // 100:,}.{paid.amount % 100:02}",
        f'<p role="alert">{escape(message)}</p><p>{escape(paid.customer.email)}: {escape(prompt)}</p>'
        f'<form method="post">{inputs}<button name="action" value="{action}">Pay</button> '
        f'<button name="action" value="cancel">Cancel</button></form>{_test_cards() if action == "card" else ""}',
    )


def _test_cards() -> str:
    hidden = '<input type="hidden" name="{}" value="{}">'.format
    return "".join(
        f'<form method="post">{hidden("number", number)}{hidden("cvv", cvv)}'
        f"{hidden('expiry_month', '12')}{hidden('expiry_year', '35')}"
        f'<p><button name="action" value="card">{label}</button></p></form>'
        for label, (number, cvv) in TEST_CARDS.items()
    )


def show_bank(integration: Integration, request: Request) -> Answer:
    if _at_bank(integration, request) is None:
        return _redirect(CLOSE)
    buttons = "".join(
        f'<button name="action" value="{name}">{name.title()}</button> ' for name in ("approve", "decline")
    )
    return html(_titled("Your bank", f'<p>Confirm the payment.</p><form method="post">{buttons}</form>'))


def submit_bank(integration: Integration, request: Request) -> Answer:
    """Approve or decline at the bank's page. Where the payer lands isn't documented [?]."""
    paid = _at_bank(integration, request)
    if paid is None:
        return _redirect(CLOSE)
    if _form(request).get("action") == "approve":
        cards.pass_step(integration, paid, paid.steps[0])
    else:
        transactions.fail(integration, paid, "authentication_failed")
    if paid.access_code:
        return _redirect(f"{integration.base_url}/checkout/{paid.access_code}")
    goes_back = integration.variants["open_url_return"] == "callback" and paid.callback_url
    return _redirect(return_address(paid) if goes_back else CLOSE)


def _at_bank(integration: Integration, request: Request) -> Transaction | None:
    found = integration.tables.transactions.get(request.params["reference"])
    return found if found and found.status == "open_url" else None


def close(integration: Integration, request: Request) -> Answer:
    return html(_titled("Done", "<p>You can close this window.</p>"))


def upload(integration: Integration, request: Request) -> Answer:
    integration.uploads[request.params["name"]] = request.raw
    return Answer(HTTPStatus.OK, {}, b"")


def return_address(paid: Transaction) -> str:
    """Return the merchant's address with both parameters that Paystack adds."""
    if not paid.callback_url:
        return CLOSE
    joint = "&" if "?" in paid.callback_url else "?"
    return f"{paid.callback_url}{joint}{urlencode({'trxref': paid.reference, 'reference': paid.reference})}"


def _by_access_code(integration: Integration, request: Request) -> Transaction | None:
    code = request.params["code"]
    initialized = (each for each in integration.tables.transactions.values() if each.access_code)
    return next((each for each in initialized if each.access_code == code), None)


def _form(request: Request) -> dict[str, str]:
    return dict(parse_qsl(request.raw.decode(errors="replace")))


def _titled(title: str, body: str) -> str:
    return f'<!doctype html><html lang="en">{HEAD}<title>{title}</title><style>{STYLE}</style><h1>{title}</h1>{body}'


def html(text: str, status: int = HTTPStatus.OK) -> Answer:
    return Answer(int(status), {"Content-Type": "text/html; charset=utf-8"}, text.encode())


def _missing() -> Answer:
    return html(_titled("Not found", "<p>This checkout does not exist.</p>"), HTTPStatus.NOT_FOUND)


def _redirect(address: str) -> Answer:
    return Answer(int(HTTPStatus.SEE_OTHER), {"Location": address, "Content-Type": "text/html"}, b"")
