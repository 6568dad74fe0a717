"""Card charges: what the payer is asked for, and how they end."""

import hmac
from http import HTTPStatus

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.accounts import bank_transfers
from connectors.paystack.simulator.answers import (
    Answer,
    Document,
    Refused,
    Request,
    as_json,
    ok,
    whole_amount,
)
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import disputes, transactions
from connectors.paystack.simulator.records import Step, Transaction

ATTEMPTED = "Charge attempted"
OPEN = {status for status, _ in tables.ASKS.values()}
RESULTS = {*tables.GATEWAY, "timeout", "error"}
BRANDS = {"4": ("visa ", "visa"), "5": ("mastercard DEBIT", "mastercard")}
VERVE = ("5060", "5061", "5078", "6500")
DECLINED_BY_STEP = {"pin": "invalid_pin"}  # after wrong answers; the others have no code of their own [D3]


class UnknownScript(ValueError):
    """The text describes no card."""


def read_script(text: str) -> tuple[list[Step], str]:
    """Parse a card's behaviour: steps and a result.

    >>> read_script("pin=1111 approved")
    ([Step(kind='pin', expected='1111')], 'approved')

    :raises UnknownScript: a step or the result is unknown
    """
    *asked, result = text.split() or [""]
    steps = [Step(*word.split("=", 1)) for word in asked]
    if result not in RESULTS or not all(_is_possible(step) for step in steps):
        raise UnknownScript(
            f"{text!r} is not steps ({', '.join(tables.ASKS)}) and one of {', '.join(sorted(RESULTS))}"
        )
    return steps, result


def _is_possible(step: Step) -> bool:
    is_timed = step.kind != "pending" or not step.expected or step.expected.isdecimal()
    return step.kind in tables.ASKS and is_timed


def charge(integration: Integration, request: Request) -> Answer:
    if not request.text("email"):
        raise Refused("email_of_card" if request.body.get("card") else "email")
    made = _opened(integration, request)
    made.metadata = request.body.get("metadata") or made.metadata
    made.callback_url = request.text("callback_url") or made.callback_url  # of no effect, or of some [?]
    if request.body.get("bank_transfer") is not None:
        return bank_transfers.open_session(integration, made, request.body["bank_transfer"])
    start(integration, made, request.section("card"), pin=request.text("pin"))
    return answer(integration, made, ATTEMPTED)


def _opened(integration: Integration, request: Request) -> Transaction:
    """Return the new transaction of a charge. A used reference is refused, and doesn't return the first answer."""
    is_transfer = request.body.get("bank_transfer") is not None
    amount = read_amount(integration, request, by_transfer=is_transfer)
    if not (is_transfer or _is_card(request.section("card"))):
        raise Refused("missing")
    reference = request.text("reference")
    used = integration.tables.transactions.get(reference)
    if used is None:
        return integration.new_transaction(reference=reference, amount=amount, email=request.text("email"))
    is_allowed = integration.variants["charge_of_initialized"] == "continued"
    if not (is_allowed and used.status == "initialized"):
        raise Refused(integration.variants["charge_repeated"])
    return used


def _is_card(card: Document) -> bool:
    expiry = (str(card.get(name, "")) for name in ("expiry_year", "expiry_month"))
    return bool(card.get("number")) and all(part.isdecimal() for part in expiry)


def read_amount(integration: Integration, request: Request, *, by_transfer: bool = False) -> int:
    """Return the amount of a charge.

    :raises Refused: the amount or the currency is not possible
    """
    amount = whole_amount(request.body.get("amount"))
    if (request.text("currency") or integration.settings.currency) != integration.settings.currency:
        raise Refused("currency")
    if not (tables.MINIMUM_BY_TRANSFER if by_transfer else tables.MINIMUM) <= amount <= tables.MAXIMUM:
        raise Refused("amount")
    return amount


def start(integration: Integration, made: Transaction, card: Document, *, pin: str = "") -> None:
    """Charge a card. A PIN that comes with it saves the first step."""
    if not _is_card(card):
        raise Refused("missing")
    number = "".join(str(card.get("number", "")).split())
    made.steps, made.result = read_script(_behaviour(integration, number, card))
    made.gateway_code, made.wrong_tries = "", 0
    made.authorization = _authorization(integration, number, card)
    if made.result == "error" and not made.steps:
        transactions.fail(integration, made, "unknown")
        raise Refused("gateway")
    if pin and made.steps and made.steps[0].kind == "pin":
        take(integration, made, made.steps[0], pin)
    else:
        _proceed(integration, made)


def _behaviour(integration: Integration, number: str, card: Document) -> str:
    cvv, behaviour = tables.TEST_CARDS.get(number, ("", tables.REAL_CARD[integration.domain]))
    expiry = (int(f"20{str(card['expiry_year'])[-2:]}"), int(str(card["expiry_month"])))
    if expiry < (integration.now().year, integration.now().month):
        return "expired_card"
    if cvv and str(card.get("cvv", "")) != cvv:
        return "invalid_cvv"
    return integration.script("card") or behaviour


def _authorization(integration: Integration, number: str, card: Document) -> Document:
    card_type, brand = ("verve ", "verve") if number.startswith(VERVE) else BRANDS.get(number[:1], ("", ""))
    same_card = hmac.digest(integration.settings.secret_key.encode(), number.encode(), "sha256").hex()
    return {
        "authorization_code": integration.code("AUTH")[:15],
        "bin": number[:6],
        "last4": number[-4:],
        "exp_month": f"{card.get('expiry_month', ''):0>2}",
        "exp_year": str(card.get("expiry_year", "")),
        "channel": "card",
        "card_type": card_type,  # with a trailing blank, as they send it [O]
        "bank": "TEST BANK",
        "country_code": "NG",
        "brand": brand,
        "reusable": True,
        "signature": f"SIG_{same_card[:20]}",
        "account_name": None,
    }


def _proceed(integration: Integration, made: Transaction) -> None:
    """Ask the payer for the next step, or end the charge."""
    if not made.steps:
        _finish(integration, made)
        return
    step = made.steps[0]
    made.status = tables.ASKS[step.kind][0]
    if step.kind == "pending":
        integration.schedule.add(float(step.expected or 10), lambda: pass_step(integration, made, step))


def pass_step(integration: Integration, made: Transaction, step: Step) -> None:
    """Go on, if the charge is still at this step."""
    if made.status in OPEN and made.steps and made.steps[0] is step:
        made.steps.pop(0)
        _proceed(integration, made)


def _finish(integration: Integration, made: Transaction) -> None:
    if made.result == "approved":
        transactions.succeed(integration, made)
        disputes.dispute_by_amount(integration, made)
    elif made.result == "timeout":
        transactions.fail(integration, made, "transaction_timeout", status="timeout")
    else:
        transactions.fail(integration, made, "unknown" if made.result == "error" else made.result)


def submit(integration: Integration, request: Request) -> Answer:
    """Take what the payer was asked for: PIN, OTP, phone, birthday or address."""
    kind = request.path.rpartition("_")[2]
    made = integration.tables.transactions.get(request.text("reference"))
    if made is None or made.status not in OPEN or made.steps[0].kind != kind:
        raise Refused("charge_missing")
    if kind == "address":
        request.need("address", "city", "state", "zip_code")
    request.need(kind)
    take(integration, made, made.steps[0], request.text(kind))
    if (
        kind == "address" and made.status == "failed"
    ):  # 200, and yet `status` is false (sample submit-address)
        data = {"status": "failed", "message": tables.GATEWAY[made.gateway_code][0]}
        return as_json(HTTPStatus.OK, {"status": False, "message": ATTEMPTED, "data": data})
    return answer(integration, made, ATTEMPTED, is_nameless=kind == "birthday")


def take(integration: Integration, made: Transaction, step: Step, value: str) -> None:
    if not step.expected or value == step.expected:
        made.status = tables.ASKS[step.kind][0]
        pass_step(integration, made, step)
        return
    made.wrong_tries += 1
    if integration.variants["wrong_code"] == "failed" or made.wrong_tries >= tables.TRIES:
        transactions.fail(integration, made, DECLINED_BY_STEP.get(step.kind, "token_not_generated"))
    else:
        _proceed(integration, made)


def check(integration: Integration, request: Request) -> Answer:
    found = integration.transaction(request.params["reference"])
    if found is None:
        raise Refused("charge_missing")
    return answer(integration, found, "Reference check successful")


def answer(integration: Integration, made: Transaction, message: str, *, is_nameless: bool = False) -> Answer:
    """Answer with the charge's present state. Some answers have no reference (sample submit-birthday, 200_otp)."""
    if made.status == "success":
        return ok(message, transactions.document(integration, made, "charge") | _codes(integration, made))
    data: Document = {"reference": made.reference, "status": made.status}
    if is_nameless and made.status == "send_otp":
        del data["reference"]
    if made.session:
        return ok(message, data | bank_transfers.session_document(made.session))
    if made.status in OPEN:
        return ok(message, data | _asked(integration, made))
    if made.gateway_code:
        data["message"] = tables.GATEWAY[made.gateway_code][0]
    return ok(message, data | _codes(integration, made))


def _codes(integration: Integration, made: Transaction) -> Document:
    is_coded = integration.variants["charge_codes"] == "everywhere"
    return transactions.codes(integration, made) if is_coded else {}


def _asked(integration: Integration, made: Transaction) -> Document:
    kind = made.steps[0].kind
    data: Document = {"display_text": tables.ASKS[kind][1]} if tables.ASKS[kind][1] else {}
    if kind == "open_url":
        data["url"] = bank_address(integration, made)
    if kind == "address":
        data["country_code"] = "US"
    return data


def bank_address(integration: Integration, made: Transaction) -> str:
    return f"{integration.base_url}/simulator/bank/{made.reference}"
