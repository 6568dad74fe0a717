"""Access rules, declared on the views: who may use an address, and what else it asks of them.

`open_to` attaches a rule to a view, and so do decorators that also enforce it, such as those of
`dashboard.memberships`. The rules of API views follow from their authentication. `config.access_middleware` refuses
every view without a rule, and asks for recent reauthentication. `docs/addresses.md` lists all rules (`make addresses`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Any, TypeVar

from django.urls import URLPattern, URLResolver, get_resolver, get_urlconf
from rest_framework.views import APIView

from kit.api.open_view import OpenView
from merchants.api.api_key_permissions import KeyAllowsMethod
from merchants.api.authentication import SignedRequest
from merchants.api.rate_limits import PerKeyRateLimit

V = TypeVar("V")  # a view: a function or a class
UNSAFE_METHODS = ("post", "put", "patch", "delete")


class Asks(StrEnum):
    """When an address requires recent reauthentication."""

    NEVER = "never"
    TO_ACT = "to act"  # every method except GET, HEAD and OPTIONS
    ALWAYS = "always"  # the page shows a secret, or is a form


class Who(StrEnum):
    """Users of an address, other than members with a permission and staff with a right."""

    PUBLIC = "public"
    KEY = "API keys"
    FULL_KEY = "API keys with full access"
    BANK = "the hosting bank, authenticated by its signature"
    PROVIDER = "the payment provider, authenticated by its signature"
    PAYER = "holders of the payment link"
    INVITED = "holders of the invitation link"
    MAILED = "holders of the mailed link"
    GUEST = "holders of the guest link"
    MONITORING = "METRICS_ALLOW_CIDRS or METRICS_TOKEN"
    PERSON = "signed-in users, for their own account"
    STAFF = "staff"
    SUPERUSER = "superusers"


class Limit(StrEnum):
    """What bounds how often an address is used: `developer_site.guides.address_guide` says how much each one allows.

    The code that knows what is counted enforces it. Request bodies are limited to MAX_BODY_BYTES everywhere.
    """

    KEY = "calls per key"
    CARD_NUMBER = "card numbers per reference"
    CHALLENGE = "3-D Secure codes"
    PAYER_VIEWS = "views of payers' pages"
    GUEST_VIEWS = "views of guests' pages"
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


SIGNS_IN = "it is part of authentication"
SIGNED = "each call is signed"
NO_ACCOUNT = "payers have no account here"
TRIES = "a sandbox moves no real money"
HARMLESS = "no money, secret or right is involved"
ENDS_SESSION = "it ends a session"


@dataclass(frozen=True, slots=True, kw_only=True)
class AccessRule:
    """The rule of one view. Without readers and writers, it refuses every request."""

    readers: str | None = None  # who may use GET; None: GET isn't allowed
    writers: str | None = None  # who may use other methods; None: they aren't allowed
    action: str = ""  # what other methods do, in words for users: "refund a payment"
    never_asks: str = ""  # why the address never asks for reauthentication; empty: it does
    shows_secret: bool = False  # asks for reauthentication before the page is shown
    needs_second_person: bool = False  # where FOUR_EYES is on
    limits: tuple[Limit, ...] = ()

    @property
    def asks(self) -> Asks:
        if self.never_asks:
            return Asks.NEVER
        is_form = self.readers is not None and self.readers == self.writers
        return Asks.ALWAYS if self.shows_secret or is_form else Asks.TO_ACT


def attach(rule: AccessRule, view: V) -> V:
    view.access_rule = rule  # type: ignore[attr-defined]
    return view


def open_to(readers: str | None, **rule: Any) -> Callable[[V], V]:
    """Attach the rule with these readers to a view, which enforces it: see `AccessRule`."""
    declared = AccessRule(readers=readers, **rule)
    return lambda view: attach(declared, view)


public_page = open_to(Who.PUBLIC)
only_redirects = open_to(Who.PUBLIC, writers=Who.PUBLIC, action="redirect", never_asks="it only redirects")


def right(codename: str) -> str:
    """Return the name for staff with a Django permission."""
    return f"staff: {codename}"


def rule_of(view: Any) -> AccessRule | None:
    """Return the rule of a view as the URL configuration has it, or None if it has none."""
    view_class = getattr(view, "view_class", None)
    declared = getattr(view, "access_rule", None) or getattr(view_class, "access_rule", None)
    if declared is None and isinstance(view_class, type) and issubclass(view_class, APIView):
        return _rule_of_api_view(view.view_class)
    return declared


@cache  # for each call of the API
def _rule_of_api_view(view: Any) -> AccessRule | None:
    """Return the rule that follows from the authentication of the class of an API view, and its further `limits`."""
    if issubclass(view, OpenView):
        return AccessRule(readers=Who.PUBLIC)
    if list(view.authentication_classes) != [SignedRequest] or KeyAllowsMethod not in view.permission_classes:
        return None
    return AccessRule(
        readers=Who.KEY if hasattr(view, "get") else None,
        writers=Who.FULL_KEY if any(hasattr(view, method) for method in UNSAFE_METHODS) else None,
        action=_action_of(view),
        never_asks=SIGNED,
        limits=(
            *([Limit.KEY] if PerKeyRateLimit in view.throttle_classes else []),
            *getattr(view, "limits", ()),
        ),
    )


def _action_of(view: type[APIView]) -> str:
    """Return what the view's method that writes does, as its docstring begins."""
    method = next((getattr(view, name) for name in UNSAFE_METHODS if hasattr(view, name)), None)
    first = ((method and method.__doc__) or "").strip().partition("\n")[0].rstrip(".")
    return first[:1].lower() + first[1:]


def routes() -> Iterator[tuple[str, URLPattern]]:
    """Yield every route of the URL configuration in use, with its pattern."""
    yield from _routes(get_resolver(get_urlconf()), "")


def _routes(resolver: URLResolver, prefix: str) -> Iterator[tuple[str, URLPattern]]:
    for each in resolver.url_patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from _routes(each, route)
        else:
            yield route, each


def rules() -> dict[str, AccessRule | None]:
    """Return the rule of every route."""
    return {route: rule_of(pattern.callback) for route, pattern in routes()}
