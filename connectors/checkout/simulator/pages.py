"""Pages that the payer sees at Checkout.com: the issuer's challenge, and the hosted payment page."""

from html import escape
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.api.responses import Response
from connectors.checkout.simulator.api.validation import payment_errors
from connectors.checkout.simulator.payments import Processor
from connectors.checkout.simulator.state import Account, Document, HostedPage, Payment, Stage

STYLE = "body{font:16px/1.5 system-ui;max-width:26rem;margin:3rem auto;padding:0 1rem}label,button,a{display:block;margin:.75rem 0}"


class PayerPages:
    """Shows the pages and takes the payer's answers. Answers given twice have no further effect."""

    def __init__(self, account: Account, processor: Processor) -> None:
        self._account, self._processor = account, processor

    def challenge(self, session: str, answer: dict[str, str] | None = None) -> Response:
        """Show the challenge, or take the answer to it: `result` approve or decline, and the password."""
        payment = self._account.payments.get(self._account.sessions.get(session, ""))
        if payment is None or payment.challenge_ends is None:
            return _page(HTTPStatus.NOT_FOUND, "Not found", "<p>There is no such payment.</p>")
        if payment.stage is not Stage.PENDING:
            return self._return(payment)
        if self._account.clock.now() >= payment.challenge_ends:
            return _page(HTTPStatus.GONE, "Link expired", "<p>This link has expired.</p>")
        return self._ask(payment, answer)

    def _ask(self, payment: Payment, answer: dict[str, str] | None) -> Response:
        has_challenge = payment.card.authentication.has_challenge
        if has_challenge and answer is None:
            return _challenge_form(payment)
        given = answer or {}
        is_approved = given.get("result") == "approve"
        if has_challenge and is_approved and given.get("password") != tables.PASSWORD:
            return _challenge_form(payment, note="That password is wrong.")
        self._processor.authenticated(payment, payer_agrees=is_approved)
        return self._return(payment)

    def _return(self, payment: Payment) -> Response:
        """Send the payer back. The address says nothing that can be relied on."""
        is_good = payment.stage in {Stage.AUTHORIZED, Stage.VERIFIED}
        page = self._account.pages.get(payment.page)
        if page:
            return self._after_try(page, payment)
        address = payment.order.get("success_url" if is_good else "failure_url") or payment.order.get(
            "success_url"
        )
        if not address:
            return _page(HTTPStatus.OK, "Done", "<p>You can close this page.</p>")
        return _redirect(self._with_session(str(address), payment))

    def _with_session(self, address: str, payment: Payment) -> str:
        added = {"cko-session-id": payment.session}
        if self._account.variants.challenge_ids == "sid and pay":
            added["cko-payment-id"] = payment.id
        parts = urlsplit(address)
        return urlunsplit(
            parts._replace(query=urlencode([*parse_qsl(parts.query, keep_blank_values=True), *added.items()]))
        )

    def hosted(self, identifier: str, entered: dict[str, str] | None = None) -> Response:
        """Show a hosted page, or pay with the card that was entered there."""
        page = self._account.pages.get(identifier)
        if page is None:
            return _page(HTTPStatus.NOT_FOUND, "Not found", "<p>There is no such page.</p>")
        if page.received and (entered is None or self._account.variants.second_page_payment == "refused"):
            return self._return(self._account.payments[page.received])
        if page.status(self._account.clock.now()) == "Expired":
            return _page(HTTPStatus.GONE, "Page expired", "<p>This page has expired.</p>")
        if entered is None:
            return _card_form(page)
        if entered.get("result") == "cancel":
            return _redirect(str(page.order["cancel_url"]))
        return self._pay(page, entered)

    def _pay(self, page: HostedPage, entered: dict[str, str]) -> Response:
        order = page.order | {"source": _source(entered)}
        if errors := payment_errors(order, identity=self._account.identity, variants=self._account.variants):
            page.note = f"Check the card: {', '.join(errors)}."
            return _card_form(page)
        payment = self._processor.authorise(order, page=page.id)
        page.payments.append(payment.id)
        if payment.stage is Stage.PENDING:
            return _redirect(self._account.link("3ds", payment.session)["href"])
        return self._after_try(page, payment)

    def _after_try(self, page: HostedPage, payment: Payment) -> Response:
        if payment.stage in {Stage.AUTHORIZED, Stage.VERIFIED} or page.received:
            return _redirect(self._with_session(str(page.order["success_url"]), payment))
        page.note = "The card was declined. Try another one."
        if self._account.variants.declined_page_try == "failure_url":
            return _redirect(self._with_session(str(page.order["failure_url"]), payment))
        return _redirect(self._account.link("page", page.id)["href"])


def _source(entered: dict[str, str]) -> Document:
    month, _, year = entered.get("expiry", "").replace(" ", "").partition("/")
    return {
        "type": "card",
        "number": entered.get("number", "").replace(" ", ""),
        "expiry_month": int(month) if month.isdecimal() else None,
        "expiry_year": (2000 if len(year) == 2 else 0) + int(year) if year.isdecimal() else None,  # noqa: PLR2004
        "name": entered.get("name", ""),
        "cvv": entered.get("cvv", ""),
        "store_for_future_use": False,
    }


def _challenge_form(payment: Payment, *, note: str = "") -> Response:
    body = f"""{_note(note)}<p>Confirm {_amount(payment.amount, payment.currency)} with card ending {payment.card.last4}.</p>
<form method="post"><label>Password <input name="password" value="{escape(tables.PASSWORD)}" autocomplete="off"></label>
<button name="result" value="approve">Approve</button><button name="result" value="decline">Decline</button></form>"""
    return _page(HTTPStatus.OK, "Simulated bank", body)


def _card_form(page: HostedPage) -> Response:
    note, page.note = page.note, ""
    body = f"""{_note(note)}<p>Pay {_amount(page.order["amount"], page.order["currency"])}.</p>
<form method="post"><label>Card number <input name="number" inputmode="numeric" autocomplete="cc-number"></label>
<label>Expiry (MM/YY) <input name="expiry" autocomplete="cc-exp"></label>
<label>CVV <input name="cvv" inputmode="numeric" autocomplete="cc-csc"></label>
<label>Name on card <input name="name" autocomplete="cc-name"></label>
<button name="result" value="pay">Pay</button><button name="result" value="cancel">Cancel</button></form>"""
    return _page(HTTPStatus.OK, "Simulated payment page", body)


def _amount(amount: int, currency: str) -> str:
    places = tables.decimals(currency)
    return escape(f"{currency} {amount / 10**places:,.{places}f}")


def _note(text: str) -> str:
    return f'<p role="alert">{escape(text)}</p>' if text else ""


def _page(status: int, title: str, body: str) -> Response:
    head = (
        f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{title}</title><style>{STYLE}</style>'
    )
    html = f"{head}<h1>{title}</h1>{body}</html>"
    return Response(status, headers={"Content-Type": "text/html; charset=utf-8"}, content=html.encode())


def _redirect(address: str) -> Response:
    return Response(HTTPStatus.SEE_OTHER, headers={"Location": address})
