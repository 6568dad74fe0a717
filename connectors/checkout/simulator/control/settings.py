"""What a test or the control interface can set: identity of the account, delays, and behaviours that no source decides."""

from dataclasses import dataclass
from typing import Any, Literal, get_args, get_type_hints


class InvalidSetting(ValueError):
    """There is no such setting, or it has other values."""


class _Settable:
    """A dataclass whose fields can be set by name."""

    def change(self, values: dict[str, Any]) -> None:
        """Set fields.

        :raises InvalidSetting: a name or value is unknown
        """
        hints = get_type_hints(type(self))
        for name, value in values.items():
            options = get_args(hints.get(name))
            is_valid = value in options if options else isinstance(value, (int, float)) and name in hints
            if not is_valid:
                raise InvalidSetting(f"{name}={value!r} is none of {', '.join(map(str, options or hints))}")
            setattr(self, name, value)


@dataclass(slots=True)
class Variants(_Settable):
    """Behaviours that no source decides. The first value is the guess that the documentation suggests, if any."""

    key_with_other_body: Literal["replayed", "refused"] = "replayed"
    key_scope: Literal["account", "call"] = "account"  # one namespace of keys, or one per address
    key_in_flight: Literal["409", "429"] = "409"  # newer documentation says 409, the published document 429
    undecided_action: Literal["hidden", "listed"] = "hidden"  # until a capture, void or refund is decided
    actions_of_pending: Literal["404", "empty"] = "404"  # the document forbids an empty list
    failed_challenge: Literal["one event", "two events"] = "one event"  # with payment_declined, too
    failed_challenge_action: Literal["listed", "missing"] = "listed"
    abandoned_challenge: Literal["declined", "silent", "pending"] = "declined"  # silent: without an event
    frictionless: Literal["redirect", "answer"] = "redirect"
    challenge_ids: Literal["sid", "sid and pay"] = "sid"  # parameters of the payer's return
    expired_authorization: Literal["Expired", "Voided"] = "Expired"  # Voided comes with payment_voided
    automatic_capture: Literal["Authorized", "Captured"] = "Authorized"  # status of the first answer
    expired_card: Literal["declined", "refused"] = "declined"  # 20054, or 422 card_expired
    long_amex_reference: Literal["refused", "accepted"] = "refused"
    missing_grant: Literal["422", "403"] = "422"  # full card details without the account manager's grant
    amount_codes: Literal["on", "off"] = "on"  # declines by amount
    retry_after: Literal["absent", "present"] = "absent"  # header of 429
    channel_in_events: Literal["present", "absent"] = "present"
    captured_links: Literal["absent", "present"] = "absent"  # _links of payment_captured
    declined_page_try: Literal["page", "failure_url"] = "page"  # where a payer goes on the hosted page
    second_page_payment: Literal["refused", "charged"] = "refused"  # two tabs of one hosted page


@dataclass(slots=True)
class Delays(_Settable):
    """Seconds until things happen."""

    capture: float = 1.0  # an automatic capture, after its authorisation
    operation: float = 1.0  # the decision about a capture, void or refund
    index: float = 0.0  # until a payment is found by its reference
    visible: float = 0.0  # until it is found by its id
    webhook: float = 0.0
    challenge: float = 15 * 60  # the redirect link's life
    authorization: float = 7 * 24 * 3600
    hosted_page: float = 30 * 60  # a guess
    idempotency_key: float = 24 * 3600
    dispute_answer: float = 7 * 24 * 3600  # until the evidence is due
    dispute_decision: float = 60.0  # after the evidence was submitted
    patience: float = 9.0  # callers without a socket time out after this


@dataclass(slots=True)
class Identity(_Settable):
    """The merchant's account. The defaults have the published form and are no secrets."""

    secret_key: str = "sk_sbox_simulatorsimulatorsimulator"  # noqa: S105
    channel: str = "pc_simulatorsimulatorsimulato"
    entity: str = "ent_simulatorsimulatorsimulato"
    client: str = "cli_simulatorsimulatorsimulato"
    currency_account: str = "ca_simulatorsimulatorsimulato"
    currencies: tuple[str, ...] = ("NGN", "USD", "GBP", "EUR", "GHS", "KES", "ZAR", "JPY", "KWD")
    has_grant: bool = True  # full card details, sent from a server
    has_3ds: bool = True
    is_bound: bool = False  # the key belongs to one channel, which need not be sent
