"""Access rules of every address: users, recent reauthentication, confirmation by a second person, and limits.

`config.access_middleware` enforces `asks`. Each view enforces its own permissions, and the functions and settings
named in `limits` enforce the limits; tests compare both with this table. The tests fail for an address that is
missing here, and changing anything at such an address requires recent reauthentication. No declaration has a default:
each one states all four rules. `docs/addresses.md` shows the table (`make addresses`).

Addresses are named by their routes, as in `config.urls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import lru_cache

from django.apps import apps
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, get_resolver

from merchants.roles import Permission


class Asks(StrEnum):
    """When an address requires recent reauthentication."""

    NEVER = "never"
    TO_ACT = "to act"  # every method except GET, HEAD and OPTIONS
    ALWAYS = "always"  # the page shows a secret


class Who(StrEnum):
    """Users of an address, other than members with a permission and staff with a right."""

    PUBLIC = "public"
    KEY = "API keys"
    FULL_KEY = "API keys with full access"
    BANK = "the hosting bank, authenticated by its signature"
    PAYER = "holders of the payment link"
    INVITED = "holders of the invitation link"
    MAILED = "holders of the mailed link"
    MONITORING = "METRICS_ALLOW_CIDRS or METRICS_TOKEN"
    PERSON = "signed-in users, for their own account"
    STAFF = "staff"
    SUPERUSER = "superusers"


class Limit(StrEnum):
    """What bounds how often an address is used: `config.docs_site.address_guide` says how much each one allows.

    Request bodies are limited to MAX_BODY_BYTES everywhere.
    """

    KEY = "calls per key"
    CARD_NUMBER = "card numbers per reference"
    CHALLENGE = "3-D Secure codes"
    PAYER_VIEWS = "views of payers' pages"
    CHECKOUTS = "unpaid checkouts"
    DECLINES = "declined cards"
    SIGN_IN = "sign-in attempts"
    CODE = "second-step codes"
    PASSKEY = "passkey challenges"
    CONFIRMATION = "confirmations"
    RESET = "password reset mails"
    INVITATION = "invitations"
    EXPORT = "exports"
    TEST_EVENT = "test events"
    EXAM = "exams"
    READINESS = "readiness checks"


NO_LIMIT: tuple[Limit, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """The declaration of one address. There are no defaults, so that no rule is left out."""

    readers: str | None  # who may use GET; None: GET isn't allowed
    writers: str | None  # who may use other methods; None: they aren't allowed
    action: str  # what other methods do, in words for users: "refund a payment"
    asks: Asks
    reason: str  # why the address never asks for reauthentication
    needs_second_person: bool  # where FOUR_EYES is on
    limits: tuple[Limit, ...]


def _page(readers: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page that only shows something."""
    return Address(
        readers=readers,
        writers=None,
        action="",
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


def _nothing(action: str) -> Address:
    """Return an address that refuses every request."""
    return Address(
        readers=None,
        writers=None,
        action=action,
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=False,
        limits=NO_LIMIT,
    )


def _form(who: str, action: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page with a form that asks for recent reauthentication when it is submitted."""
    return _form_shown_to(who, who, action, limits)


def _form_shown_to(readers: str, writers: str, action: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page with a form that more people see than may submit it."""
    return Address(
        readers=readers,
        writers=writers,
        action=action,
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


def _button(who: str, action: str, limits: tuple[Limit, ...]) -> Address:
    """Return the target of a form on another page."""
    return Address(
        readers=None,
        writers=who,
        action=action,
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


def _secret_page(readers: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page that shows a secret."""
    return Address(
        readers=readers,
        writers=None,
        action="",
        asks=Asks.ALWAYS,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


def _secret_form(who: str, action: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page with a form that asks for recent reauthentication before it is shown."""
    return Address(
        readers=who,
        writers=who,
        action=action,
        asks=Asks.ALWAYS,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


def _unasked_form(readers: str, writers: str, action: str, reason: str, limits: tuple[Limit, ...]) -> Address:
    """Return a page with a form that never asks for reauthentication, with the reason."""
    return Address(
        readers=readers,
        writers=writers,
        action=action,
        asks=Asks.NEVER,
        reason=reason,
        needs_second_person=False,
        limits=limits,
    )


def _unasked_button(writers: str, action: str, reason: str, limits: tuple[Limit, ...]) -> Address:
    """Return the target of a form on another page that never asks for reauthentication, with the reason."""
    return Address(
        readers=None,
        writers=writers,
        action=action,
        asks=Asks.NEVER,
        reason=reason,
        needs_second_person=False,
        limits=limits,
    )


def _staff_button(who: str, action: str, *, needs_second_person: bool, limits: tuple[Limit, ...]) -> Address:
    """Return the target of a form in the administration."""
    return Address(
        readers=None,
        writers=who,
        action=action,
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=needs_second_person,
        limits=limits,
    )


def _staff_form(who: str, action: str, *, needs_second_person: bool) -> Address:
    """Return a page of the administration with a form."""
    return replace(_form(who, action, NO_LIMIT), needs_second_person=needs_second_person)


def _read() -> Address:
    """Return an API endpoint for GET. All endpoints count the calls of their key."""
    return _endpoint(readers=Who.KEY, writers=None, action="", limits=(Limit.KEY,))


def _write(action: str) -> Address:
    """Return an API endpoint for POST."""
    return _endpoint(readers=None, writers=Who.FULL_KEY, action=action, limits=(Limit.KEY,))


def _limited_write(action: str, *further: Limit) -> Address:
    """Return an API endpoint for POST with limits besides that of calls."""
    return _endpoint(readers=None, writers=Who.FULL_KEY, action=action, limits=(Limit.KEY, *further))


def _read_and_write(action: str, *further: Limit) -> Address:
    """Return an API endpoint for GET and POST, with limits besides that of calls."""
    return _endpoint(readers=Who.KEY, writers=Who.FULL_KEY, action=action, limits=(Limit.KEY, *further))


def _endpoint(*, readers: str | None, writers: str | None, action: str, limits: tuple[Limit, ...]) -> Address:
    return Address(
        readers=readers,
        writers=writers,
        action=action,
        asks=Asks.NEVER,
        reason="each call is signed",
        needs_second_person=False,
        limits=limits,
    )


def _right(codename: str) -> str:
    """Return the name for staff with a Django permission."""
    return f"staff: {codename}"


def _payers_form(action: str, *limits: Limit) -> Address:
    return _unasked_form(
        Who.PAYER, Who.PAYER, action, "payers have no account here", (Limit.PAYER_VIEWS, *limits)
    )


def _payers_button(action: str, *limits: Limit) -> Address:
    return replace(_payers_form(action, *limits), readers=None)


EXPORTS = (Limit.EXPORT,)
SIGNS_IN = "it is part of authentication"
TRIES = "a sandbox moves no real money"
HARMLESS = "no money, secret or right is involved"

OF_KEYS = {
    "api/payments": _read_and_write("create a payment or payout", Limit.CARD_NUMBER),
    "api/payments/<str:reference>": _read(),
    "api/payments/<str:reference>/capture": _write("capture a payment"),
    "api/payments/<str:reference>/void": _write("void a payment"),
    "api/payments/<str:reference>/cancel": _write("cancel a payment"),
    "api/payments/<str:reference>/refunds": _read_and_write("refund a payment"),
    "api/payments/<str:reference>/checkout": _read(),
    "api/payment-links": _read_and_write("create a payment link"),
    "api/payment-links/<str:reference>": _read_and_write("change a payment link"),
    "api/payment-links/<str:reference>/deactivate": _write("deactivate a payment link"),
    "api/payment-links/<str:reference>/activate": _write("activate a payment link"),
    "api/payment-links/<str:reference>/checkouts": _read(),
    "api/refunds/<str:reference>": _read(),
    "api/virtual-accounts": _read_and_write("create a virtual account"),
    "api/virtual-accounts/simulate": _read_and_write("simulate a transfer"),
    "api/virtual-accounts/<str:reference>/deactivate": _write("deactivate a virtual account"),
    "api/virtual-accounts/<str:reference>": _read(),
    "api/unapplied-transfers": _read(),
    "api/unapplied-transfers/<uuid:id>/credit": _write("credit an unapplied transfer"),
    "api/unapplied-transfers/<uuid:id>/return": _write("return an unapplied transfer"),
    "api/settlements": _read(),
    "api/settlements/<uuid:id>": _read(),
    "api/events": _read(),
    "api/events/<uuid:event_id>": _read(),
    "api/events/<uuid:event_id>/resend": _write("resend an event"),
    "api/requests": _read(),
    "api/balance": _read(),
    "api/balance/movements": _read(),
    "api/banks/resolve": _write("look up an account's name"),
    "api/sandbox/advance": _write("move deadlines in the sandbox"),
    "api/sandbox/listeners": _write("begin a listener"),
    "api/sandbox/listeners/<str:name>/poll": _write("poll a listener"),
    "api/sandbox/listeners/<str:name>/end": _write("end a listener"),
    "api/sandbox/exams": _limited_write("examine a webhook receiver", Limit.EXAM),
    "api/sandbox/exams/<uuid:exam_id>": _read(),
    "api/sandbox/exams/<uuid:exam_id>/answers": _write("report the answers of an exam"),
    "api/banks": _read(),
    "^api/": _endpoint(readers=None, writers=None, action="", limits=(Limit.KEY,)),
}

OF_BANK = {
    "bank/transfers": _unasked_button(Who.BANK, "notify a transfer", "each notification is signed", NO_LIMIT),
    "bank/payout-returns": _unasked_button(
        Who.BANK, "notify a returned payout", "each notification is signed", NO_LIMIT
    ),
}

OF_OPERATIONS = {
    "favicon.ico": _page(Who.PUBLIC, NO_LIMIT),
    "robots.txt": _page(Who.PUBLIC, NO_LIMIT),
    ".well-known/security.txt": _page(Who.PUBLIC, NO_LIMIT),
    "livez": _page(Who.PUBLIC, NO_LIMIT),
    "readyz": _page(Who.PUBLIC, (Limit.READINESS,)),
    "metrics": _page(Who.MONITORING, NO_LIMIT),
}

OF_PAYERS = {
    "3ds/<str:token>": _unasked_form(
        Who.PAYER, Who.PAYER, "enter the code, or decline", "payers have no account here", (Limit.CHALLENGE,)
    ),
    "pay/<uuid:payment_id>": _page(Who.PAYER, NO_LIMIT),
    "l/<str:slug>": _payers_form("begin a payment", Limit.CHECKOUTS),
    "checkout/theme/<str:colour>.css": _page(Who.PUBLIC, NO_LIMIT),
    "checkout/<str:token>": _page(Who.PAYER, (Limit.PAYER_VIEWS,)),
    "checkout/<str:token>/card": _payers_button("pay by card", Limit.DECLINES),
    "checkout/<str:token>/transfer": _payers_button("get an account number"),
    "checkout/<str:token>/end": _payers_button("end an attempt to pay"),
    "checkout/<str:token>/state": _page(Who.PAYER, (Limit.PAYER_VIEWS,)),
    "checkout/<str:token>/receipt": _page(Who.PAYER, (Limit.PAYER_VIEWS,)),
    "checkout/<str:token>/simulate": _payers_button("simulate a transfer"),
}

OPEN = {
    "": _page(Who.PUBLIC, NO_LIMIT),
    "api/docs": _page(Who.PUBLIC, NO_LIMIT),
    "api/docs/<path:slug>": _page(Who.PUBLIC, NO_LIMIT),
    "api/openapi.json": _page(Who.PUBLIC, NO_LIMIT),
    "api/sandbox/scenarios": _page(Who.PUBLIC, NO_LIMIT),
    "api/collections/postman.json": _page(Who.PUBLIC, NO_LIMIT),
    "api/collections/bruno.zip": _page(Who.PUBLIC, NO_LIMIT),
    "^api/collections/": _nothing(""),  # answers 404
    "docs": _unasked_form(Who.PUBLIC, Who.PUBLIC, "redirect", "it only redirects", NO_LIMIT),
    "docs/": _page(Who.PUBLIC, NO_LIMIT),
    "docs/components": _page(Who.PUBLIC, NO_LIMIT),
    "docs/test-data": _page(Who.PUBLIC, NO_LIMIT),
    "docs/events": _page(Who.PUBLIC, NO_LIMIT),
    "docs/search": _page(Who.PUBLIC, NO_LIMIT),
    "docs/errors/": _page(Who.PUBLIC, NO_LIMIT),
    "docs/errors/<str:code>": _page(Who.PUBLIC, NO_LIMIT),
    "docs/samples/<path:name>": _page(Who.PUBLIC, NO_LIMIT),
    "docs/<str:slug>": _page(Who.PUBLIC, NO_LIMIT),
}

OF_MEMBERS = {
    "dashboard": _unasked_form(Who.PUBLIC, Who.PUBLIC, "redirect", "it only redirects", NO_LIMIT),
    "dashboard/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payments/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payments/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/payments/<uuid:transaction_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payments/<uuid:transaction_id>/capture/": _form(
        Permission.CAPTURE, "capture a payment", NO_LIMIT
    ),
    "dashboard/payments/<uuid:transaction_id>/void/": _form(Permission.CAPTURE, "void a payment", NO_LIMIT),
    "dashboard/payments/<uuid:transaction_id>/cancel/": _form(
        Permission.CAPTURE, "cancel a payment", NO_LIMIT
    ),
    "dashboard/payments/<uuid:transaction_id>/notes/": _unasked_button(
        Permission.ADD_NOTES, "add a note", HARMLESS, NO_LIMIT
    ),
    "dashboard/payments/<uuid:transaction_id>/refund/": _form(
        Permission.REFUND, "refund a payment", NO_LIMIT
    ),
    "dashboard/refunds/<uuid:refund_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payouts/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payouts/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/payouts/new/": _form(Permission.PAY_OUT, "make a payout", NO_LIMIT),
    "dashboard/payouts/<uuid:transaction_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/webhooks/": _form_shown_to(
        Permission.VIEW, Permission.MANAGE_WEBHOOKS, "change the webhook settings", NO_LIMIT
    ),
    "dashboard/webhooks/rotate/": _form(
        Permission.MANAGE_WEBHOOKS, "rotate the webhook signing key", NO_LIMIT
    ),
    "dashboard/webhooks/test/": _unasked_button(
        Permission.MANAGE_WEBHOOKS, "send a test event", HARMLESS, (Limit.TEST_EVENT,)
    ),
    "dashboard/webhooks/exam/": _unasked_form(
        Permission.VIEW, Permission.MANAGE_WEBHOOKS, "examine the webhook receiver", HARMLESS, (Limit.EXAM,)
    ),
    "dashboard/webhooks/exam/<uuid:exam_id>/acted/": _unasked_button(
        Permission.MANAGE_WEBHOOKS, "answer the question of an exam", HARMLESS, NO_LIMIT
    ),
    "dashboard/webhooks/replay/": _unasked_form(
        Permission.REPLAY_WEBHOOKS, Permission.REPLAY_WEBHOOKS, "resend deliveries", HARMLESS, NO_LIMIT
    ),
    "dashboard/webhooks/deliveries/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/webhooks/deliveries/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/webhooks/deliveries/<uuid:delivery_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/webhooks/deliveries/resend/": _unasked_button(
        Permission.REPLAY_WEBHOOKS, "resend the selected deliveries", HARMLESS, NO_LIMIT
    ),
    "dashboard/webhooks/deliveries/<uuid:delivery_id>/replay/": _unasked_button(
        Permission.REPLAY_WEBHOOKS, "resend a delivery", HARMLESS, NO_LIMIT
    ),
    "dashboard/developers/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/developers/keys/new/": _form(Permission.MANAGE_KEYS, "create an API key", NO_LIMIT),
    "dashboard/developers/keys/<int:key_id>/rotate/": _form(
        Permission.MANAGE_KEYS, "rotate an API key", NO_LIMIT
    ),
    "dashboard/developers/keys/<int:key_id>/revoke/": _form(
        Permission.MANAGE_KEYS, "revoke an API key", NO_LIMIT
    ),
    "dashboard/developers/requests/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/developers/signature/": _unasked_form(
        Permission.VIEW, Permission.VIEW, "check a signature", "it only checks a signature", NO_LIMIT
    ),
    "dashboard/team/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/team/invite/": _form(Permission.MANAGE_TEAM, "invite a person", (Limit.INVITATION,)),
    "dashboard/team/<int:member_id>/": _form(Permission.MANAGE_TEAM, "change a member's role", NO_LIMIT),
    "dashboard/team/<int:member_id>/remove/": _button(Permission.MANAGE_TEAM, "remove a member", NO_LIMIT),
    "dashboard/team/invitations/<uuid:invitation_id>/withdraw/": _button(
        Permission.MANAGE_TEAM, "cancel an invitation", NO_LIMIT
    ),
    "dashboard/invitation/<str:token>/": _form(Who.INVITED, "join a business", (Limit.INVITATION,)),
    "dashboard/activity/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/views/": _unasked_button(Permission.VIEW, "save a view of a list", HARMLESS, NO_LIMIT),
    "dashboard/views/<int:view_id>/": _unasked_form(
        Permission.VIEW, Permission.VIEW, "rename or delete a saved view", HARMLESS, NO_LIMIT
    ),
    "dashboard/activity/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/payment-links/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/new/": _form(Permission.MANAGE_LINKS, "create a payment link", NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/edit/": _form(
        Permission.MANAGE_LINKS, "change a payment link", NO_LIMIT
    ),
    "dashboard/payment-links/<uuid:link_id>/deactivate/": _form(
        Permission.MANAGE_LINKS, "deactivate a payment link", NO_LIMIT
    ),
    "dashboard/payment-links/<uuid:link_id>/activate/": _form(
        Permission.MANAGE_LINKS, "activate a payment link", NO_LIMIT
    ),
    "dashboard/payment-links/<uuid:link_id>/qr.svg": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/qr.png": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/poster/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/checkouts/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/checkouts.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/payment-links/<uuid:link_id>/attempts/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/payment-links/<uuid:link_id>/attempts/<uuid:payment_id>/end/": _form(
        Permission.MANAGE_LINKS, "end a payer's transfer attempt", NO_LIMIT
    ),
    "dashboard/virtual-accounts/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/virtual-accounts/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/virtual-accounts/new/": _form(
        Permission.MANAGE_ACCOUNTS, "create a virtual account", NO_LIMIT
    ),
    "dashboard/virtual-accounts/unapplied/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/virtual-accounts/unapplied/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/": _form_shown_to(
        Permission.VIEW, Permission.RESOLVE_UNAPPLIED, "credit or return an unapplied transfer", NO_LIMIT
    ),
    "dashboard/virtual-accounts/<uuid:account_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/virtual-accounts/<uuid:account_id>/deactivate/": _form(
        Permission.MANAGE_ACCOUNTS, "deactivate a virtual account", NO_LIMIT
    ),
    "dashboard/virtual-accounts/<uuid:account_id>/activate/": _button(
        Permission.MANAGE_ACCOUNTS, "activate a virtual account", NO_LIMIT
    ),
    "dashboard/settlements/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/settlements/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/settlements/<uuid:batch_id>/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/settlements/<uuid:batch_id>/statement.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/balance/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/balance/export.<file_type:file_type>": _page(Permission.VIEW, EXPORTS),
    "dashboard/settings/": _form_shown_to(
        Permission.VIEW, Permission.MANAGE_SETTINGS, "change the settings of the business", NO_LIMIT
    ),
    "dashboard/search/": _page(Permission.VIEW, NO_LIMIT),
    "dashboard/sandbox/": _unasked_form(
        Permission.VIEW, Permission.TRY_FLOWS, "send a sample request", TRIES, NO_LIMIT
    ),
    "dashboard/sandbox/expire/<uuid:transaction_id>/": _unasked_button(
        Permission.TRY_FLOWS, "expire a payment", TRIES, NO_LIMIT
    ),
    "dashboard/sandbox/retry/<uuid:delivery_id>/": _unasked_button(
        Permission.TRY_FLOWS, "retry a delivery", TRIES, NO_LIMIT
    ),
    "dashboard/sandbox/settle/": _unasked_button(
        Permission.TRY_FLOWS, "settle all payments", TRIES, NO_LIMIT
    ),
    "dashboard/business/": _unasked_button(
        Permission.VIEW, "choose a business", "it only chooses which business is shown", NO_LIMIT
    ),
}

OF_PEOPLE = {
    "dashboard/login/": _unasked_form(Who.PUBLIC, Who.PUBLIC, "sign in", SIGNS_IN, (Limit.SIGN_IN,)),
    "dashboard/login/code/": _unasked_form(
        Who.PUBLIC, Who.PUBLIC, "enter the second step's code", SIGNS_IN, (Limit.CODE, Limit.PASSKEY)
    ),
    "dashboard/login/passkey/": _unasked_form(
        Who.PUBLIC, Who.PUBLIC, "sign in with a passkey", SIGNS_IN, (Limit.PASSKEY,)
    ),
    "dashboard/login/forgotten/": _unasked_form(
        Who.PUBLIC, Who.PUBLIC, "request a password reset", "it mails a link", (Limit.RESET,)
    ),
    "dashboard/login/forgotten/sent/": _page(Who.PUBLIC, NO_LIMIT),
    "dashboard/login/new-password/<str:uidb36>/<str:key>/": _unasked_form(
        Who.MAILED, Who.MAILED, "set a new password", SIGNS_IN, NO_LIMIT
    ),
    "dashboard/login/new-password/set/": _page(Who.PUBLIC, NO_LIMIT),
    "dashboard/logout/": _unasked_button(Who.PUBLIC, "sign out", "it ends a session", NO_LIMIT),
    "dashboard/confirm/": _unasked_form(
        Who.PERSON, Who.PERSON, "confirm with the password", SIGNS_IN, (Limit.CONFIRMATION,)
    ),
    "dashboard/confirm/code/": _unasked_form(
        Who.PERSON, Who.PERSON, "confirm with a code", SIGNS_IN, (Limit.CONFIRMATION,)
    ),
    "dashboard/confirm/passkey/": _unasked_form(
        Who.PERSON, Who.PERSON, "confirm with a passkey", SIGNS_IN, (Limit.PASSKEY,)
    ),
    "dashboard/confirm/form/": _secret_page(Who.PERSON, NO_LIMIT),
    "dashboard/account/": _page(Who.PERSON, NO_LIMIT),
    "dashboard/account/name/": _unasked_button(Who.PERSON, "change one's name", HARMLESS, NO_LIMIT),
    "dashboard/account/password/": _unasked_form(
        Who.PERSON,
        Who.PERSON,
        "change one's password",
        "its form requires the current password",
        (Limit.CONFIRMATION,),
    ),
    "dashboard/account/app/": _secret_form(Who.PERSON, "set up an authenticator app", NO_LIMIT),
    "dashboard/account/app/off/": _secret_form(Who.PERSON, "turn off the authenticator app", NO_LIMIT),
    "dashboard/account/codes/": _secret_page(Who.PERSON, NO_LIMIT),
    "dashboard/account/codes/new/": _secret_form(Who.PERSON, "create new recovery codes", NO_LIMIT),
    "dashboard/account/passkeys/new/": _secret_form(Who.PERSON, "add a passkey", (Limit.PASSKEY,)),
    "dashboard/account/passkeys/<int:pk>/off/": _secret_form(Who.PERSON, "remove a passkey", NO_LIMIT),
    "dashboard/account/sessions/<int:session_id>/end/": _unasked_button(
        Who.PERSON, "end a session", "it ends a session", NO_LIMIT
    ),
    "dashboard/account/sessions/end-others/": _unasked_button(
        Who.PERSON, "end other sessions", "it ends sessions", NO_LIMIT
    ),
}

OF_STAFF = {
    "admin/": _page(Who.STAFF, NO_LIMIT),
    "admin/login/": _unasked_form(Who.PUBLIC, Who.PUBLIC, "redirect", "it only redirects", NO_LIMIT),
    "admin/logout/": _unasked_button(Who.STAFF, "sign out", "it ends a session", NO_LIMIT),
    "admin/password_change/": _page(Who.STAFF, NO_LIMIT),  # redirects
    "admin/password_change/done/": _page(Who.STAFF, NO_LIMIT),
    "admin/autocomplete/": _page(Who.STAFF, NO_LIMIT),
    "admin/search/": _page(Who.STAFF, NO_LIMIT),
    "admin/jsi18n/": _page(Who.STAFF, NO_LIMIT),
    "admin/r/<path:content_type_id>/<path:object_id>/": _page(Who.STAFF, NO_LIMIT),
    "admin/^(?P<app_label>merchants|auth|payments|ledger|virtual_accounts|webhooks)/$": _page(
        Who.STAFF, NO_LIMIT
    ),
    "admin/(?P<url>.*)$": _page(Who.STAFF, NO_LIMIT),
    "admin/payments/settlementbatch/<uuid:batch_id>/decide/": _staff_button(
        _right("payments.decide_settlementbatch"),
        "approve, release or reject a settlement batch",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/payments/settlementbatch/<uuid:batch_id>/statement.csv": _page(
        _right("payments.view_settlementbatch"), EXPORTS
    ),
    "admin/payments/settlementbatch/approve/": _staff_form(
        _right("payments.decide_settlementbatch"), "approve settlement batches", needs_second_person=True
    ),
    "admin/payments/proposal/confirm/": _staff_form(
        _right("payments.decide_settlementbatch"),
        "confirm approvals of settlement batches",
        needs_second_person=True,
    ),
    "admin/payments/proposal/<uuid:proposal_id>/confirm/": _staff_button(
        "staff: the permission for the proposed action",
        "confirm a proposal",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/payments/proposal/<uuid:proposal_id>/decline/": _staff_button(
        "staff: the permission for the proposed action",
        "decline a proposal",
        needs_second_person=False,
        limits=NO_LIMIT,
    ),
    "admin/payments/transaction/<uuid:subject_id>/resolve/": _staff_button(
        _right("payments.resolve_unknown"),
        "resolve an unknown outcome",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/payments/cardoperation/<uuid:subject_id>/resolve/": _staff_button(
        _right("payments.resolve_unknown"),
        "resolve an unknown outcome",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/payments/paymentlink/<uuid:link_id>/block/": _staff_button(
        _right("payments.change_paymentlink"),
        "block a payment link",
        needs_second_person=False,
        limits=NO_LIMIT,
    ),
    "admin/payments/paymentlink/<uuid:link_id>/unblock/": _staff_button(
        _right("payments.change_paymentlink"),
        "lift the block of a payment link",
        needs_second_person=False,
        limits=NO_LIMIT,
    ),
    "admin/virtual_accounts/unappliedmoney/<uuid:money_id>/credit/": _staff_button(
        _right("virtual_accounts.change_unappliedmoney"),
        "credit an unapplied transfer",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/virtual_accounts/unappliedmoney/<uuid:money_id>/return/": _staff_button(
        _right("virtual_accounts.change_unappliedmoney"),
        "return an unapplied transfer",
        needs_second_person=True,
        limits=NO_LIMIT,
    ),
    "admin/virtual_accounts/unclaimedtransfer/<uuid:transfer_id>/resolve/": _staff_button(
        _right("virtual_accounts.change_unclaimedtransfer"),
        "resolve an unclaimed transfer",
        needs_second_person=False,
        limits=NO_LIMIT,
    ),
    "admin/webhooks/delivery/<uuid:delivery_id>/replay/": _staff_button(
        _right("webhooks.change_delivery"), "resend a delivery", needs_second_person=False, limits=NO_LIMIT
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """Who may change the rows of a model in the administration. Empty: no user may."""

    add: str
    change: str
    from_list: str  # who may use actions on the list
    needs_second_person: bool  # to add a row, where FOUR_EYES is on
    limits: tuple[Limit, ...]


def _rows(*, add: str, change: str, needs_second_person: bool) -> Rows:
    return Rows(
        add=add, change=change, from_list="", needs_second_person=needs_second_person, limits=NO_LIMIT
    )


def _decided_from_list(codename: str) -> Rows:
    """Return rows that can be chosen on their list. The list only leads to the page that decides about them."""
    return Rows(add="", change="", from_list=_right(codename), needs_second_person=False, limits=NO_LIMIT)


READ_ONLY = _rows(add="", change="", needs_second_person=False)
ROWS = {
    "auth.group": _rows(add=Who.SUPERUSER, change=Who.SUPERUSER, needs_second_person=False),
    "ledger.account": READ_ONLY,
    "ledger.entry": _rows(add=_right("ledger.add_entry"), change="", needs_second_person=True),
    "ledger.posting": READ_ONLY,
    "merchants.apikey": READ_ONLY,
    "merchants.auditentry": READ_ONLY,
    "merchants.business": _rows(
        add="", change=_right("merchants.change_business"), needs_second_person=False
    ),
    "merchants.user": _rows(
        add="", change=f"{_right('merchants.change_user')}; superusers for staff", needs_second_person=False
    ),
    "payments.cardoperation": READ_ONLY,
    "payments.checkout": READ_ONLY,
    "payments.paymentlink": READ_ONLY,
    "payments.payoutreturn": _rows(
        add=_right("payments.add_payoutreturn"), change="", needs_second_person=True
    ),
    "payments.proposal": _decided_from_list("payments.decide_settlementbatch"),
    "payments.railchoice": _rows(
        add=_right("payments.add_railchoice"),
        change=_right("payments.change_railchoice"),
        needs_second_person=False,
    ),
    "payments.reconciliation": READ_ONLY,
    "payments.reconciliationline": READ_ONLY,
    "payments.settlementbatch": _decided_from_list("payments.decide_settlementbatch"),
    "payments.settlementitem": READ_ONLY,
    "payments.tariff": _rows(add=_right("payments.add_tariff"), change="", needs_second_person=False),
    "payments.transaction": READ_ONLY,
    "virtual_accounts.accountnumber": READ_ONLY,
    "virtual_accounts.providermessage": READ_ONLY,
    "virtual_accounts.session": READ_ONLY,
    "virtual_accounts.transfer": READ_ONLY,
    "virtual_accounts.unappliedmoney": READ_ONLY,
    "virtual_accounts.unclaimedtransfer": READ_ONLY,
    "virtual_accounts.virtualaccount": READ_ONLY,
    "webhooks.delivery": Rows(
        add="",
        change="",
        from_list=_right("webhooks.change_delivery"),
        needs_second_person=False,
        limits=NO_LIMIT,
    ),
    "webhooks.endpoint": READ_ONLY,
}


def _of_model(label: str, rows: Rows) -> Iterator[tuple[str, Address]]:
    """Yield the administration's addresses of one model."""
    name = apps.get_model(label)._meta.verbose_name_plural
    base = f"admin/{label.replace('.', '/')}/"
    readers = _right(label.replace(".", ".view_"))
    row = f"{base}<path:object_id>/"
    yield base, _of_rows(readers, rows.from_list, f"run an action on {name}", rows.limits)
    added = _of_rows(rows.add, rows.add, f"add {name}", rows.limits)
    yield f"{base}add/", replace(added, needs_second_person=rows.needs_second_person)
    yield f"{row}change/", _of_rows(readers, rows.change, f"change {name}", rows.limits)
    yield f"{row}delete/", _nothing(f"delete {name}")
    yield f"{row}history/", _page(readers, NO_LIMIT)
    yield row, _page(Who.STAFF, NO_LIMIT)  # redirects


def _of_rows(readers: str, writers: str, action: str, limits: tuple[Limit, ...]) -> Address:
    return Address(
        readers=readers or None,
        writers=writers or None,
        action=action,
        asks=Asks.TO_ACT,
        reason="",
        needs_second_person=False,
        limits=limits,
    )


@lru_cache(maxsize=1)
def addresses() -> dict[str, Address]:
    """Return every declaration, by route."""
    of_models = dict(each for label, rows in ROWS.items() for each in _of_model(label, rows))
    parts = (OF_KEYS, OF_BANK, OF_PAYERS, OPEN, OF_MEMBERS, OF_PEOPLE, OF_STAFF, of_models, OF_OPERATIONS)
    return {route: address for part in parts for route, address in part.items()}


def declared(request: HttpRequest) -> Address | None:
    """Return the declaration of the address that a request was routed to."""
    match = request.resolver_match
    return addresses().get(match.route) if match else None


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield every route of the URL configuration, with its pattern."""
    yield from _routes(get_resolver(), "")


def _routes(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each, route)
        else:
            yield route, each
