"""Every address: who may use it, whether it asks for recent reauthentication, who confirms it, and its limits.

`config.reauthentication` enforces `asks`. Who may use an address is enforced by its view, and how often by what
`limits` names; tests compare each with this table. An address that is missing here fails the tests, and asks
whoever changes something there.

Addresses are named by their routes, as in `config.urls`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from django.apps import apps
from django.http import HttpRequest
from django.urls import URLPattern, URLResolver, get_resolver

from merchants.roles import Permission


class Asks(StrEnum):
    """When an address asks for recent reauthentication."""

    NEVER = "never"
    TO_ACT = "to act"  # every method but GET, HEAD and OPTIONS
    ALWAYS = "always"  # its page shows a secret


class Who(StrEnum):
    """Who may use an address, where that is no role of a business and no right of staff."""

    ANYBODY = "anybody"
    KEY = "a key"
    FULL_KEY = "a key with full access"
    BANK = "the hosting bank, by its signature"
    PAYER = "whoever has the payment's link"
    INVITED = "whoever has the invitation's link"
    MAILED = "whoever has the mailed link"
    MONITORING = "METRICS_ALLOW_CIDRS or METRICS_TOKEN"
    PERSON = "whoever is signed in, for their own account"
    STAFF = "staff"
    SUPERUSER = "superusers"


class Limit(StrEnum):
    """What bounds how often an address is used. All of them take bodies of at most MAX_BODY_BYTES."""

    KEY = "RATE_LIMIT_READS and RATE_LIMIT_WRITES per key and second"
    SIGN_IN = "failed sign-ins: dashboard.attempts.take_sign_in"
    CODE = "failed codes of the second step: dashboard.attempts.take_code"
    CONFIRMATION = "failed confirmations: dashboard.attempts.take_confirmation"
    RESET = "mails: dashboard.attempts.take_reset_mail"
    INVITATION = "invitations and their mails: merchants.team"


@dataclass(frozen=True, slots=True, kw_only=True)
class Address:
    """What is declared of an address."""

    look: str | None  # who may use GET; None: nobody
    act: str = ""  # what other methods do, as a person would say it: "refund a payment"
    by: str | None = None  # who may use them; None: nobody
    asks: Asks = Asks.TO_ACT
    because: str = ""  # why acts are not asked for
    needs_second_person: bool = False  # where FOUR_EYES is on
    limits: tuple[Limit, ...] = ()


def _page(who: str = Permission.LOOK) -> Address:
    return Address(look=who)


def _form(
    who: str,
    act: str,
    *,
    look: str | None = None,
    asks: Asks = Asks.TO_ACT,
    limits: tuple[Limit, ...] = (),
) -> Address:
    """Return a page with a form. `look` is who sees it, where some may only look."""
    return Address(look=look or who, by=who, act=act, asks=asks, limits=limits)


def _button(who: str, act: str, *, needs_second_person: bool = False) -> Address:
    """Return what a form on another page is sent to."""
    return Address(look=None, by=who, act=act, needs_second_person=needs_second_person)


def _unasked(
    who: str,
    because: str,
    *,
    look: str | None = None,
    limits: tuple[Limit, ...] = (),
    is_button: bool = False,
) -> Address:
    """Return what never asks, and why."""
    return Address(
        look=None if is_button else look or who, by=who, asks=Asks.NEVER, because=because, limits=limits
    )


def _call(*methods: str) -> Address:
    """Return an endpoint of the API."""
    return Address(
        look=Who.KEY if "get" in methods else None,
        by=Who.FULL_KEY if "post" in methods else None,
        asks=Asks.NEVER,
        because="each call is signed",
        limits=(Limit.KEY,),
    )


def _right(codename: str) -> str:
    """Return the staff who have a permission of Django's."""
    return f"staff: {codename}"


GET, POST = "get", "post"
SIGNS_IN = "it is how people show who they are"
TRIES = "nothing real happens in a sandbox"
HARMLESS = "it moves no money, shows no secret and gives no right"

OF_KEYS = {
    "api/payments": _call(GET, POST),
    "api/payments/<str:reference>": _call(GET),
    "api/payments/<str:reference>/capture": _call(POST),
    "api/payments/<str:reference>/void": _call(POST),
    "api/payments/<str:reference>/cancel": _call(POST),
    "api/payments/<str:reference>/refunds": _call(GET, POST),
    "api/refunds/<str:reference>": _call(GET),
    "api/virtual-accounts": _call(GET, POST),
    "api/virtual-accounts/simulate": _call(GET, POST),
    "api/virtual-accounts/<str:reference>/deactivate": _call(POST),
    "api/virtual-accounts/<str:reference>": _call(GET),
    "api/unapplied-transfers": _call(GET),
    "api/unapplied-transfers/<uuid:id>/credit": _call(POST),
    "api/unapplied-transfers/<uuid:id>/return": _call(POST),
    "api/settlements": _call(GET),
    "api/settlements/<uuid:id>": _call(GET),
    "api/events": _call(GET),
    "api/events/<uuid:event_id>": _call(GET),
    "api/balance": _call(GET),
    "api/balance/movements": _call(GET),
    "api/banks/resolve": _call(POST),
    "api/sandbox/advance": _call(POST),
    "api/banks": _call(GET),
    "^api/": _call(),
}

OF_OTHER_MACHINES = {
    "api/openapi.json": _page(Who.ANYBODY),
    "^api/collections/": Address(look=None),  # answers 404
    "bank/transfers": _unasked(Who.BANK, "each notification is signed", is_button=True),
    "bank/payout-returns": _unasked(Who.BANK, "each notification is signed", is_button=True),
    "livez": _page(Who.ANYBODY),
    "readyz": _page(Who.ANYBODY),
    "metrics": _page(Who.MONITORING),
}

OF_PAYERS = {
    "3ds/<str:token>": _unasked(Who.PAYER, "payers have no account here"),
    "pay/<uuid:payment_id>": _page(Who.PAYER),
}

OPEN = {
    "": _page(Who.ANYBODY),
    "api/docs": _page(Who.ANYBODY),
    "docs": _unasked(Who.ANYBODY, "it only redirects"),
    "docs/": _page(Who.ANYBODY),
    "docs/test-data": _page(Who.ANYBODY),
    "docs/errors/": _page(Who.ANYBODY),
    "docs/errors/<str:code>": _page(Who.ANYBODY),
    "docs/samples/<path:name>": _page(Who.ANYBODY),
    "docs/<str:slug>": _page(Who.ANYBODY),
}

OF_MEMBERS = {
    "dashboard": _unasked(Who.ANYBODY, "it only redirects"),
    "dashboard/": _page(),
    "dashboard/payments/": _page(),
    "dashboard/payments/export.csv": _page(),
    "dashboard/payments/<uuid:transaction_id>/": _page(),
    "dashboard/payments/<uuid:transaction_id>/capture/": _form(Permission.CAPTURE, "capture a payment"),
    "dashboard/payments/<uuid:transaction_id>/void/": _form(Permission.CAPTURE, "void a payment"),
    "dashboard/payments/<uuid:transaction_id>/cancel/": _form(Permission.CAPTURE, "cancel a payment"),
    "dashboard/payments/<uuid:transaction_id>/refund/": _form(Permission.REFUND, "refund a payment"),
    "dashboard/payouts/": _page(),
    "dashboard/payouts/export.csv": _page(),
    "dashboard/payouts/new/": _form(Permission.PAY_OUT, "make a payout"),
    "dashboard/payouts/<uuid:transaction_id>/": _page(),
    "dashboard/webhooks/": _form(
        Permission.MANAGE_WEBHOOKS, "change the webhook settings", look=Permission.LOOK
    ),
    "dashboard/webhooks/rotate/": _form(Permission.MANAGE_WEBHOOKS, "rotate the webhook signing key"),
    "dashboard/webhooks/test/": _unasked(Permission.MANAGE_WEBHOOKS, HARMLESS, is_button=True),
    "dashboard/webhooks/replay/": _unasked(Permission.REPLAY_WEBHOOKS, HARMLESS),
    "dashboard/webhooks/deliveries/": _page(),
    "dashboard/webhooks/deliveries/<uuid:delivery_id>/": _page(),
    "dashboard/webhooks/deliveries/<uuid:delivery_id>/replay/": _unasked(
        Permission.REPLAY_WEBHOOKS, HARMLESS, is_button=True
    ),
    "dashboard/developers/": _page(),
    "dashboard/developers/keys/new/": _form(Permission.MANAGE_KEYS, "create an API key"),
    "dashboard/developers/keys/<int:key_id>/rotate/": _form(Permission.MANAGE_KEYS, "rotate an API key"),
    "dashboard/developers/keys/<int:key_id>/revoke/": _form(Permission.MANAGE_KEYS, "revoke an API key"),
    "dashboard/developers/requests/": _page(),
    "dashboard/developers/signature/": _unasked(Permission.LOOK, "it only checks a signature"),
    "dashboard/team/": _page(),
    "dashboard/team/invite/": _form(Permission.MANAGE_TEAM, "invite a person", limits=(Limit.INVITATION,)),
    "dashboard/team/<int:member_id>/": _form(Permission.MANAGE_TEAM, "change a member's role"),
    "dashboard/team/<int:member_id>/remove/": _button(Permission.MANAGE_TEAM, "remove a member"),
    "dashboard/team/invitations/<uuid:invitation_id>/withdraw/": _button(
        Permission.MANAGE_TEAM, "withdraw an invitation"
    ),
    "dashboard/invitation/<str:token>/": _form(Who.INVITED, "join a business", limits=(Limit.INVITATION,)),
    "dashboard/activity/": _page(),
    "dashboard/activity/export.csv": _page(),
    "dashboard/virtual-accounts/": _page(),
    "dashboard/virtual-accounts/new/": _form(Permission.MANAGE_ACCOUNTS, "create a virtual account"),
    "dashboard/virtual-accounts/unapplied/": _page(),
    "dashboard/virtual-accounts/unapplied/<uuid:unapplied_id>/": _form(
        Permission.RESOLVE_UNAPPLIED, "credit or return an unapplied transfer", look=Permission.LOOK
    ),
    "dashboard/virtual-accounts/<uuid:account_id>/": _page(),
    "dashboard/virtual-accounts/<uuid:account_id>/deactivate/": _form(
        Permission.MANAGE_ACCOUNTS, "deactivate a virtual account"
    ),
    "dashboard/virtual-accounts/<uuid:account_id>/activate/": _button(
        Permission.MANAGE_ACCOUNTS, "activate a virtual account"
    ),
    "dashboard/settlements/": _page(),
    "dashboard/settlements/<uuid:batch_id>/": _page(),
    "dashboard/settlements/<uuid:batch_id>/statement.csv": _page(),
    "dashboard/balance/": _page(),
    "dashboard/balance/export.csv": _page(),
    "dashboard/sandbox/": _unasked(Permission.TRY_FLOWS, TRIES, look=Permission.LOOK),
    "dashboard/sandbox/expire/<uuid:transaction_id>/": _unasked(Permission.TRY_FLOWS, TRIES, is_button=True),
    "dashboard/sandbox/retry/<uuid:delivery_id>/": _unasked(Permission.TRY_FLOWS, TRIES, is_button=True),
    "dashboard/business/": _unasked(
        Permission.LOOK, "it only chooses which business is shown", is_button=True
    ),
}

OF_PEOPLE = {
    "dashboard/login/": _unasked(Who.ANYBODY, SIGNS_IN, limits=(Limit.SIGN_IN,)),
    "dashboard/login/code/": _unasked(Who.ANYBODY, SIGNS_IN, limits=(Limit.CODE,)),
    "dashboard/login/passkey/": _unasked(Who.ANYBODY, SIGNS_IN),
    "dashboard/login/forgotten/": _unasked(Who.ANYBODY, "it mails a link", limits=(Limit.RESET,)),
    "dashboard/login/forgotten/sent/": _page(Who.ANYBODY),
    "dashboard/login/new-password/<str:uidb36>/<str:key>/": _unasked(Who.MAILED, SIGNS_IN),
    "dashboard/login/new-password/set/": _page(Who.ANYBODY),
    "dashboard/logout/": _unasked(Who.ANYBODY, "it ends a session", is_button=True),
    "dashboard/confirm/": _unasked(Who.PERSON, SIGNS_IN, limits=(Limit.CONFIRMATION,)),
    "dashboard/confirm/code/": _unasked(Who.PERSON, SIGNS_IN, limits=(Limit.CONFIRMATION,)),
    "dashboard/confirm/passkey/": _unasked(Who.PERSON, SIGNS_IN),
    "dashboard/confirm/form/": Address(look=Who.PERSON, asks=Asks.ALWAYS),
    "dashboard/account/": _page(Who.PERSON),
    "dashboard/account/name/": _unasked(Who.PERSON, HARMLESS, is_button=True),
    "dashboard/account/password/": _unasked(
        Who.PERSON, "it asks for the present password itself", limits=(Limit.CONFIRMATION,)
    ),
    "dashboard/account/app/": _form(Who.PERSON, "set an authenticator app up", asks=Asks.ALWAYS),
    "dashboard/account/app/off/": _form(Who.PERSON, "turn the authenticator app off", asks=Asks.ALWAYS),
    "dashboard/account/codes/": Address(look=Who.PERSON, asks=Asks.ALWAYS),
    "dashboard/account/codes/new/": _form(Who.PERSON, "make new recovery codes", asks=Asks.ALWAYS),
    "dashboard/account/passkeys/new/": _form(Who.PERSON, "add a passkey", asks=Asks.ALWAYS),
    "dashboard/account/passkeys/<int:pk>/off/": _form(Who.PERSON, "remove a passkey", asks=Asks.ALWAYS),
    "dashboard/account/sessions/<int:session_id>/end/": _unasked(
        Who.PERSON, "it ends a session", is_button=True
    ),
    "dashboard/account/sessions/end-others/": _unasked(Who.PERSON, "it ends sessions", is_button=True),
}

OF_STAFF = {
    "admin/": _page(Who.STAFF),
    "admin/login/": _unasked(Who.ANYBODY, "it only redirects"),
    "admin/logout/": _unasked(Who.STAFF, "it ends a session", is_button=True),
    "admin/password_change/": _page(Who.STAFF),  # redirects
    "admin/password_change/done/": _page(Who.STAFF),
    "admin/autocomplete/": _page(Who.STAFF),
    "admin/jsi18n/": _page(Who.STAFF),
    "admin/r/<path:content_type_id>/<path:object_id>/": _page(Who.STAFF),
    "admin/^(?P<app_label>merchants|auth|payments|ledger|virtual_accounts|webhooks)/$": _page(Who.STAFF),
    "admin/(?P<url>.*)$": _page(Who.STAFF),
    "admin/payments/settlementbatch/<uuid:batch_id>/decide/": _button(
        _right("payments.decide_settlementbatch"),
        "approve, release or reject a settlement batch",
        needs_second_person=True,
    ),
    "admin/payments/settlementbatch/<uuid:batch_id>/statement.csv": _page(
        _right("payments.view_settlementbatch")
    ),
    "admin/payments/proposal/<uuid:proposal_id>/confirm/": _button(
        "staff: the permission of what is proposed", "confirm a proposal", needs_second_person=True
    ),
    "admin/payments/proposal/<uuid:proposal_id>/decline/": _button(
        "staff: the permission of what is proposed", "decline a proposal"
    ),
    "admin/payments/transaction/<uuid:subject_id>/resolve/": _button(
        _right("payments.resolve_unknown"), "resolve an unknown outcome", needs_second_person=True
    ),
    "admin/payments/cardoperation/<uuid:subject_id>/resolve/": _button(
        _right("payments.resolve_unknown"), "resolve an unknown outcome", needs_second_person=True
    ),
    "admin/virtual_accounts/unappliedmoney/<uuid:money_id>/credit/": _button(
        _right("virtual_accounts.change_unappliedmoney"),
        "credit an unapplied transfer",
        needs_second_person=True,
    ),
    "admin/virtual_accounts/unappliedmoney/<uuid:money_id>/return/": _button(
        _right("virtual_accounts.change_unappliedmoney"),
        "return an unapplied transfer",
        needs_second_person=True,
    ),
    "admin/virtual_accounts/unclaimedtransfer/<uuid:transfer_id>/resolve/": _button(
        _right("virtual_accounts.change_unclaimedtransfer"), "resolve an unclaimed transfer"
    ),
    "admin/webhooks/delivery/<uuid:delivery_id>/replay/": _button(
        _right("webhooks.change_delivery"), "send a delivery again"
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Rows:
    """What staff do with the rows of a model besides looking at them."""

    add: str = ""  # who; empty: nobody
    change: str = ""
    from_list: str = ""  # actions of the list
    needs_second_person: bool = False


READ_ONLY = Rows()
ROWS = {
    "auth.group": Rows(add=Who.SUPERUSER, change=Who.SUPERUSER),
    "ledger.account": READ_ONLY,
    "ledger.entry": Rows(add=_right("ledger.add_entry"), needs_second_person=True),
    "ledger.posting": READ_ONLY,
    "merchants.apikey": READ_ONLY,
    "merchants.auditentry": READ_ONLY,
    "merchants.business": Rows(change=_right("merchants.change_business")),
    "merchants.user": Rows(change=f"{_right('merchants.change_user')}; superusers for staff"),
    "payments.cardoperation": READ_ONLY,
    "payments.payoutreturn": Rows(add=_right("payments.add_payoutreturn"), needs_second_person=True),
    "payments.proposal": READ_ONLY,
    "payments.railchoice": Rows(
        add=_right("payments.add_railchoice"), change=_right("payments.change_railchoice")
    ),
    "payments.reconciliation": READ_ONLY,
    "payments.reconciliationline": READ_ONLY,
    "payments.settlementbatch": READ_ONLY,
    "payments.settlementitem": READ_ONLY,
    "payments.tariff": Rows(add=_right("payments.add_tariff")),
    "payments.transaction": READ_ONLY,
    "virtual_accounts.accountnumber": READ_ONLY,
    "virtual_accounts.providermessage": READ_ONLY,
    "virtual_accounts.session": READ_ONLY,
    "virtual_accounts.transfer": READ_ONLY,
    "virtual_accounts.unappliedmoney": READ_ONLY,
    "virtual_accounts.unclaimedtransfer": READ_ONLY,
    "virtual_accounts.virtualaccount": READ_ONLY,
    "webhooks.delivery": Rows(from_list=_right("webhooks.change_delivery")),
    "webhooks.endpoint": READ_ONLY,
}


def _of_model(label: str, rows: Rows) -> Iterator[tuple[str, Address]]:
    """Yield the addresses that the administration has for each model."""
    name = apps.get_model(label)._meta.verbose_name
    base = f"admin/{label.replace('.', '/')}/"
    look = _right(label.replace(".", ".view_"))
    row = f"{base}<path:object_id>/"
    yield base, Address(look=look, by=rows.from_list or None, act=f"act on rows: {name}")
    yield (
        f"{base}add/",
        Address(
            look=rows.add or None,
            by=rows.add or None,
            act=f"add: {name}",
            needs_second_person=rows.needs_second_person,
        ),
    )
    yield f"{row}change/", Address(look=look, by=rows.change or None, act=f"change: {name}")
    yield f"{row}delete/", Address(look=None, act=f"delete: {name}")
    yield f"{row}history/", Address(look=look)
    yield row, _page(Who.STAFF)  # redirects


@lru_cache(maxsize=1)
def addresses() -> dict[str, Address]:
    """Return every declaration, by route."""
    of_models = dict(each for label, rows in ROWS.items() for each in _of_model(label, rows))
    parts = (OF_KEYS, OF_OTHER_MACHINES, OF_PAYERS, OPEN, OF_MEMBERS, OF_PEOPLE, OF_STAFF, of_models)
    return {route: address for part in parts for route, address in part.items()}


def declared(request: HttpRequest) -> Address | None:
    match = request.resolver_match
    return addresses().get(match.route) if match else None


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield every route that is served, with its pattern."""
    yield from _routes(get_resolver(), "")


def _routes(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each, route)
        else:
            yield route, each
