"""What Checkout.com does with payments: decides by test cards and amounts, authenticates, captures, voids, refunds."""

import hashlib
from collections.abc import Callable
from functools import partial

from connectors.checkout.simulator import tables
from connectors.checkout.simulator.api.responses import Refused
from connectors.checkout.simulator.state import Account, Action, Card, Document, Payment, Stage, without_empty

MAX_ACTIONS = 150  # per payment
Listener = Callable[[Payment, Action | None, str], None]  # payment, action, event


class Processor:
    """Processes payments, and tells `publish` about each decision."""

    def __init__(self, account: Account, publish: Listener, book: Callable[[Payment, Action], None]) -> None:
        self._account, self._publish, self._book = account, publish, book

    # Authorisations

    def authorise(self, order: Document, *, page: str = "", hidden: float = 0.0) -> Payment:
        payment = self._new_payment(order, page=page, hidden=hidden)
        wish = order.get("3ds") or {}
        if wish.get("enabled"):
            self._start_authentication(payment, attempts_without=bool(wish.get("attempt_n3d")))
        else:
            self._decide(payment, may_upgrade=wish.get("allow_upgrade", True) and not payment.is_check)
        return payment

    def _new_payment(self, order: Document, *, page: str, hidden: float) -> Payment:
        account, source = self._account, order["source"]
        payment = Payment(
            id=account.new_id("pay"),
            session=account.new_id("sid"),
            order={name: value for name, value in order.items() if name != "source"},
            card=_card(source, order),
            amount=int(order.get("amount") or 0),
            currency=order["currency"],
            reference=order.get("reference", ""),
            requested_on=account.clock.now(),
            found_from=account.clock.after(max(hidden, account.delays.visible)),
            indexed_from=account.clock.after(max(hidden, account.delays.index)),
            page=page,
            stored_card=account.new_id("src") if source.get("store_for_future_use", True) else "",
            customer=self._customer(order.get("customer") or {}),
        )
        account.add(payment)
        return payment

    def _customer(self, given: Document) -> Document:
        """Return the customer, who is created with an unknown e-mail address: a guess."""
        email = given.get("email", "")
        if not email:
            return {}
        known = self._account.customers.setdefault(email, self._account.new_id("cus"))
        return {"id": known, "email": email} | ({"name": given["name"]} if given.get("name") else {})

    def _start_authentication(self, payment: Payment, *, attempts_without: bool) -> None:
        expected = payment.card.authentication
        payment.three_ds = {"downgraded": False, "enrolled": expected.enrolled}
        if not expected.response:  # the issuer doesn't take part
            payment.three_ds["downgraded"] = attempts_without
            if attempts_without:
                self._decide(payment, may_upgrade=False)
            else:
                self._finish(payment, tables.NO_3DS)
        elif not expected.has_challenge and self._account.variants.frictionless == "answer":
            self.authenticated(payment, payer_agrees=True)
        else:
            self._wait_for_payer(payment)

    def _wait_for_payer(self, payment: Payment) -> None:
        life = self._account.delays.challenge
        payment.challenge_ends = self._account.clock.after(life)
        self._account.schedule.add(life, partial(self._abandon, payment))
        self._publish(payment, None, "payment_pending")

    def _abandon(self, payment: Payment) -> None:
        variant = self._account.variants.abandoned_challenge
        if payment.stage is Stage.PENDING and variant != "pending":
            self._finish(payment, tables.NOT_COMPLETED, is_silent=variant == "silent")

    def authenticated(self, payment: Payment, *, payer_agrees: bool) -> None:
        """Continue after 3-D Secure, once. Does nothing if the payment no longer waits."""
        if payment.stage is not Stage.PENDING:
            return
        expected = payment.card.authentication
        response = expected.response if payer_agrees or not expected.has_challenge else "N"
        payment.three_ds |= {"authentication_response": response or "N", "challenged": expected.has_challenge}
        if self._is_second_of_page(payment):
            payment.stage = Stage.CANCELED
            self._publish(payment, None, "payment_canceled")
        elif response in {"Y", "A"}:
            self._decide(payment, may_upgrade=False)
        else:
            self._finish(payment, tables.NOT_AUTHENTICATED)

    def _is_second_of_page(self, payment: Payment) -> bool:
        page = self._account.pages.get(payment.page)
        return bool(page and page.received) and self._account.variants.second_page_payment == "refused"

    def _decide(self, payment: Payment, *, may_upgrade: bool) -> None:
        code, recommendation = self._code(payment)
        if code == tables.SOFT_DECLINE and may_upgrade:
            payment.three_ds = {"downgraded": False, "enrolled": "Y", "upgrade_reason": "sca_retry"}
            self._wait_for_payer(payment)
            return
        if code == tables.SOFT_DECLINE and payment.three_ds.get("authentication_response"):
            code = tables.APPROVED
        self._finish(payment, code, recommendation=recommendation)

    def _code(self, payment: Payment) -> tuple[str, str]:
        """Return the response code of an authorisation and its recommendation code."""
        card, amount = payment.card, payment.amount
        if planned := self._account.decisions["Card Verification" if payment.is_check else "Authorization"]:
            return planned.popleft(), ""
        if card.recommends and amount in tables.RECOMMENDATION_OF_AMOUNT:
            return tables.CODE_WITH_RECOMMENDATION, tables.RECOMMENDATION_OF_AMOUNT[amount]
        if self._has_expired(card):
            return tables.EXPIRED_CARD, "01"
        if payment.is_check:
            return card.check_code or tables.APPROVED, ""
        return card.code or self._code_of_amount(payment) or tables.APPROVED, ""

    def _code_of_amount(self, payment: Payment) -> str:
        if self._account.variants.amount_codes == "off" or tables.decimals(payment.currency) != 2:  # noqa: PLR2004
            return ""
        ending = f"{payment.amount % 100:02}"
        return tables.CODE_OF_AMOUNT.get(payment.amount) or tables.CODE_OF_ENDING.get(ending, "")

    def _has_expired(self, card: Card) -> bool:
        today = self._account.clock.now()
        return (card.source["expiry_year"], card.source["expiry_month"]) < (today.year, today.month)

    def _finish(
        self,
        payment: Payment,
        code: str,
        *,
        recommendation: str = "",
        is_silent: bool = False,
    ) -> None:
        """End an authorisation or card check with a response code."""
        variants = self._account.variants
        action = self._new_action(
            "Card Verification" if payment.is_check else "Authorization",
            amount=payment.amount // 2 if code == tables.PARTLY_APPROVED else payment.amount,
            reference=payment.reference,
        )
        action.approved, action.code = code in tables.APPROVALS, code
        action.processed_on = action.requested_on
        # An approval has an authorisation code, and a decline by the issuer may have one, too.
        action.auth_code = f"{action.number * 7919 % 10**6:06}" if action.approved or recommendation else ""
        action.recommendation = recommendation
        payment.last_attempt = action
        is_failed_challenge = code == tables.NOT_AUTHENTICATED
        if not is_failed_challenge or variants.failed_challenge_action == "listed":
            payment.actions.append(action)
        self._set_stage(payment, action)
        if is_silent:
            return
        if is_failed_challenge:
            self._publish(payment, action, "payment_authentication_failed")
            if variants.failed_challenge == "one event":
                return
        self._publish(payment, action, tables.EVENTS_OF_ACTION[action.type][not action.approved])

    def _set_stage(self, payment: Payment, action: Action) -> None:
        self._book(payment, action)
        if not action.approved:
            payment.stage = Stage.DECLINED
            return
        page = self._account.pages.get(payment.page)
        if page and not page.received:
            page.received = payment.id
        if payment.is_check:
            payment.stage = Stage.VERIFIED
            return
        payment.stage, payment.authorized = Stage.AUTHORIZED, action.amount
        account, delays = self._account, self._account.delays
        payment.expires_on = account.clock.after(delays.authorization)
        account.schedule.add(delays.authorization, partial(self._expire, payment))
        if payment.order.get("capture", True):
            account.schedule.add(delays.capture, partial(self._capture_automatically, payment))

    def _capture_automatically(self, payment: Payment) -> None:
        if amount := payment.capturable:
            action = self._new_action("Capture", amount=amount, reference=payment.reference)
            payment.actions.append(action)
            self._decide_operation(payment, action)

    def _expire(self, payment: Payment) -> None:
        """Release what wasn't captured. No source says that an event is sent."""
        if not payment.capturable:
            return
        if self._account.variants.expired_authorization == "Voided":
            action = self._new_action("Void", amount=payment.capturable)
            payment.actions.append(action)
            self._decide_operation(payment, action)
            return
        payment.expired = payment.capturable
        if not payment.captured:
            payment.stage = Stage.EXPIRED

    # Captures, voids and refunds

    def operate(self, payment: Payment, kind: str, order: Document) -> Action:
        """Accept a capture, void or refund, and decide it later.

        :raises Refused: the payment's state or balances don't allow it
        """
        action = self._new_action(
            kind,
            amount=self._allowed_amount(payment, kind, order.get("amount")),
            reference=order.get("reference", ""),
        )
        action.is_final = order.get("capture_type", "Final") == "Final"
        action.metadata = order.get("metadata") or {}
        payment.actions.append(action)
        decide = partial(self._decide_operation, payment, action)
        self._account.schedule.add(self._account.delays.operation, decide)
        return action

    def reverse(self, payment: Payment, order: Document) -> Action:
        """Void what is authorised, or refund what is captured. Checkout.com decides which, and no source says when."""
        order = {"reference": order.get("reference", ""), "metadata": order.get("metadata")}
        return self.operate(payment, "Refund" if payment.captured else "Void", order)

    def _allowed_amount(self, payment: Payment, kind: str, wished: int | None) -> int:
        if len(payment.actions) >= MAX_ACTIONS:
            raise Refused(422, "action_failure_limit_exceeded")
        if kind == "Refund":
            left, too_large = (
                payment.refundable - payment.undecided("Refund"),
                "refund_amount_exceeds_balance",
            )
        else:
            left = payment.capturable - payment.undecided("Capture", "Void")
            too_large = "void_amount_invalid"
            if kind == "Capture":
                beyond = (wished or 0) > payment.authorized
                too_large = f"capture_value_greater_than_{'authorized' if beyond else 'remaining_authorized'}"
        is_open = payment.captured if kind == "Refund" else payment.capturable
        if payment.stage is not Stage.AUTHORIZED or not is_open:
            raise Refused(403)
        amount = left if wished is None else wished
        if not 0 < amount <= left:
            raise Refused(422, too_large)
        return amount

    def _decide_operation(self, payment: Payment, action: Action) -> None:
        planned, default = self._account.decisions[action.type], self._default_code(payment, action)
        # A planned approval can't exceed what is left.
        action.code = planned.popleft() if planned and default == tables.APPROVED else default
        action.approved, action.processed_on = action.code in tables.APPROVALS, self._account.clock.now()
        if action.approved:
            self._apply(payment, action)
        self._book(payment, action)
        self._publish(payment, action, tables.EVENTS_OF_ACTION[action.type][not action.approved])

    def _default_code(self, payment: Payment, action: Action) -> str:
        if payment.card.declines_operations and action.type != "Refund":
            return tables.OPERATION_REFUSED
        left = payment.refundable if action.type == "Refund" else payment.capturable
        return tables.APPROVED if action.amount <= left else tables.OPERATION_REFUSED

    def _apply(self, payment: Payment, action: Action) -> None:
        if action.type == "Refund":
            payment.refunded += action.amount
        elif action.type == "Void":
            payment.voided += action.amount
        else:
            payment.captured += action.amount
            if action.is_final:
                payment.voided += payment.capturable

    def _new_action(self, kind: str, *, amount: int, reference: str = "") -> Action:
        account, number = self._account, self._account.next_number()
        return Action(account.new_id("act"), kind, amount, reference, account.clock.now(), number=number)


def _card(source: Document, order: Document) -> Card:
    number, amount = source["number"], order.get("amount") or 0
    expiry = f"{source['expiry_month']}/{source['expiry_year']}"
    low_card, low_amount, low_code = tables.LOW_ON_FUNDS
    code = tables.CODE_OF_CARD.get(number, "")
    shown = {name: source.get(name) for name in ("expiry_month", "expiry_year", "name", "billing_address")}
    is_disputed = (number, expiry, source.get("cvv"), amount, order["currency"]) == tables.DISPUTED
    return Card(
        source=tables.SOURCE
        | without_empty(shown)
        | {
            "scheme": tables.scheme(number),
            "last4": number[-4:],
            "bin": number[:6],
            "fingerprint": hashlib.sha256(number.encode()).hexdigest().upper(),
        },
        code=low_code
        if (number, amount) == (low_card, low_amount)
        else code or tables.CODE_UNLESS_CHECK.get(number, ""),
        check_code=code,
        authentication=tables.AUTHENTICATION_OF_CARD.get(number, tables.CHALLENGE),
        declines_operations=number in tables.CARDS_WITHOUT_CAPTURE,
        recommends=number in tables.RECOMMENDING_CARDS and source.get("cvv") == "100",
        is_disputed=is_disputed,
    )
