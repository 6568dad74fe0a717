"""The guide `docs/addresses.md`, written from the access rules of all views: `manage.py address_guide`."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from django.contrib.admin import ModelAdmin

from dashboard.account.second_factor import webauthn_ceremonies
from dashboard.account.sign_in import sign_in_limits
from dashboard.statements import guest_views
from dashboard.webhooks.endpoints import endpoint_views
from kit.time.durations import in_words
from merchants.api import rate_limits
from merchants.people import team
from merchants.people.access import AccessRule, Asks, Limit, Who, routes, rule_of
from merchants.people.attempt_limits import Limit as Throttle
from merchants.people.roles import GRANTS, Permission, Role, names_of
from payments.models import Challenge
from payments.models.transactions.transactions import MOST_CARD_NUMBER_MISMATCHES
from payments.pages import payer_requests
from payments.services.checkouts import card_declines, checkout_limits
from webhooks.exams import exams

NONE = "-"
HEAD = ("Address", "What", "Who", "Reauthentication", "Second person", "Limit")
YES_OR_NO = {"Reauthentication", "Second person"}  # columns

# The limits that are counted in the database: who or what each of them counts.
COUNTED: dict[Limit, dict[Throttle, str]] = {
    Limit.SIGN_IN: {
        sign_in_limits.PER_PAIR: "account and network",
        sign_in_limits.PER_ADDRESS: "network",
        sign_in_limits.PER_ACCOUNT: "account",
        sign_in_limits.PER_ACCOUNT_AND_DAY: "account",
        sign_in_limits.PER_DEVICE: "browser that signed in before",
        sign_in_limits.PER_DEVICE_AND_DAY: "browser that signed in before",
    },
    Limit.PASSKEY: {webauthn_ceremonies.ONE_USE: "challenge"},
    Limit.CONFIRMATION: {sign_in_limits.PER_SESSION: "session"},
    Limit.RESET: {
        sign_in_limits.MAILS_PER_PAIR: "account and network",
        sign_in_limits.MAILS_PER_ADDRESS: "network",
        sign_in_limits.MAILS_PER_ACCOUNT: "account",
        sign_in_limits.MAILS_PER_DEVICE: "browser that signed in before",
    },
    Limit.TEST_EVENT: {endpoint_views.TEST_EVENTS: "business"},
    Limit.EXAM: {exams.EXAMS: "business"},
    Limit.INVITATION: {
        team.PER_BUSINESS: "business",
        team.PER_INVITER: "inviter",
        team.PER_BUSINESS_AND_ADDRESS: "business and invited address",
        team.PER_ADDRESS: "invited address",
        team.MAILS_PER_INVITATION: "invitation, for further mails",
    },
}
COUNTED[Limit.CODE] = COUNTED[Limit.SIGN_IN]

# Limits that apply where a page is viewed. The others apply to what is submitted; that of keys to both.
OF_VIEWS = {Limit.EXPORT, Limit.GUEST_VIEWS, Limit.READINESS}

INTRODUCTION = f"""# URLs and access rules

Every URL that Sluice serves: who may use it, whether it requires recent reauthentication, whether a second person
confirms it, and its limits. `make addresses` writes this page from the rules that the views declare; the tests
fail for a URL without a rule or with different behaviour. [Security](security.md) describes the threats.

- **Reauthentication.** The user gave a password, a code or a passkey within `REAUTHENTICATION_TIMEOUT`
  (10 minutes). If the column says yes, a user with an older session must reauthenticate first. A view without
  a rule is refused.
- **Second person.** With `FOUR_EYES` on, the action is proposed, and another person confirms it. These are actions of
  staff that move money. Superusers need a second person too.
- A table without one of these two columns has no such URL.
- **Members** are the users of a business: {names_of(frozenset(Role))}. Objects of another business
  return 404.
- **Staff** have a permission directly or through a group. Superusers have every permission.
- A page and its form share a line if the same users may use both. Unsupported methods return 405.
"""


# Sections, by the beginnings of their routes, the first that matches; the API's are those that count calls of keys.
API, OTHERS = "Merchant API", "Public pages"
SECTIONS = {
    "Bank notifications": ("bank/",),
    "Webhooks of providers": ("connectors/",),
    "Payer pages": ("3ds/", "pay/", "l/", "checkout/"),
    "Guest pages": ("statement/",),
    "Sign-in and own account": tuple(
        f"dashboard/{name}/" for name in ("login", "logout", "confirm", "account")
    ),
    "Dashboard": ("dashboard",),
    "Administration": ("admin/",),
    "Operations": ("favicon.ico", "robots.txt", ".well-known/", "livez", "readyz", "metrics"),
}
TEXTS = {
    API: "Each call is signed: there is no session.",
    "Bank notifications": "Each notification is signed: there is no session.",
    "Webhooks of providers": "Each event is signed: there is no session. Without a key of the provider, they return 404.",
    "Guest pages": "Guests have a link that expires, no account and no session. They only read.",
    "Payer pages": "Payers have no account and no session.",
    OTHERS: "They show nothing about a business and change nothing.",
    "Operations": "They change nothing.",
}


def guide() -> str:
    """Return the guide as Markdown."""
    declared: dict[str, dict[str, AccessRule]] = {title: {} for title in (API, *SECTIONS, OTHERS)}
    for route, pattern in routes():
        rule = rule_of(pattern.callback)
        if rule is not None and not hasattr(pattern.callback, "model_admin"):  # these are records
            declared[_section_of(route, rule)][route] = rule
    sections = [_section(title, rows) for title, rows in declared.items()]
    return "\n".join([INTRODUCTION, *sections, _records(), _limits()])


def _section_of(route: str, rule: AccessRule) -> str:
    if Limit.KEY in rule.limits:
        return API
    return next((title for title, paths in SECTIONS.items() if route.startswith(paths)), OTHERS)


def _section(title: str, declared: dict[str, AccessRule]) -> str:
    """Return the table of an area, without the columns that would say no in each row."""
    rows = [row for route, rule in declared.items() for row in _rows_of(route, rule)]
    kept = [place for place, name in enumerate(HEAD) if name not in YES_OR_NO or _says_yes(rows, place)]
    table = _table([HEAD[place] for place in kept], ([row[place] for place in kept] for row in rows))
    text = [TEXTS[title], ""] if title in TEXTS else []
    return "\n".join([f"## {title}", "", *text, *table, ""])


def _says_yes(rows: Iterable[Sequence[str]], place: int) -> bool:
    return any(row[place].startswith("Yes") for row in rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows_of(route: str, rule: AccessRule) -> Iterator[tuple[str, ...]]:
    """Yield a row for viewing an address, unless its form says it all, and one for what it does."""
    path = f"`{path_shown(route)}`"
    if rule.readers is None and rule.writers is None:
        yield path, "Nothing: answers 404", "No one", NONE, NONE, _limits_shown(rule.limits)
    if rule.readers is not None and rule.readers != rule.writers:
        limits = [each for each in rule.limits if each in OF_VIEWS | {Limit.KEY}]
        yield (
            path,
            "View",
            who_shown(rule.readers),
            _asks_shown(rule, is_act=False),
            "No",
            _limits_shown(limits),
        )
    if rule.writers is not None:
        limits = [each for each in rule.limits if each not in OF_VIEWS]
        second = "Yes" if rule.needs_second_person else "No"
        what = _sentence(rule.action)
        yield (
            path,
            what,
            who_shown(rule.writers),
            _asks_shown(rule, is_act=True),
            second,
            _limits_shown(limits),
        )


def path_shown(route: str) -> str:
    """Return a route as people write addresses.

    >>> path_shown("dashboard/team/<int:member_id>/"), path_shown("^api/")
    ('/dashboard/team/{id}/', '/api/…')
    """
    path = re.sub(r"\(\?P<url>\.\*\)\$$", "…", route)
    path = re.sub(r"\(\?P<(\w+)>[^)]*\)", r"{\1}", path)
    path = re.sub(r"<\w+:(?:\w+_)?(\w+)>", r"{\1}", path)  # {id} says as much as {transaction_id}
    path = f"{path[1:]}…" if path.startswith("^") else path
    return "/" + re.sub(r"[\^$]", "", path)


def who_shown(who: str) -> str:
    """Return who may use an address, as a cell says it.

    >>> who_shown(Permission.REFUND), who_shown("staff: ledger.add_entry")
    ('Owners and finance', 'Staff with `ledger.add_entry`')
    """
    if who in set(Permission):
        roles = GRANTS[Permission(who)]
        return "Members" if roles == frozenset(Role) else _sentence(names_of(roles))
    if who == Who.MONITORING:
        return "Networks in `METRICS_ALLOW_CIDRS`, and holders of `METRICS_TOKEN`"
    with_codes = re.sub(r"staff: (\w+\.\w+)", r"staff with `\1`", who)
    return _sentence(with_codes.replace("staff: ", "staff with "))


def _asks_shown(rule: AccessRule, *, is_act: bool) -> str:
    if rule.asks == Asks.ALWAYS:
        return "Yes, to view it too" if is_act else "Yes"
    if rule.asks == Asks.TO_ACT:
        return "Yes" if is_act else "No"
    return f"No: {rule.never_asks}" if is_act else "No"


def _limits_shown(limits: Iterable[Limit]) -> str:
    return _sentence(", ".join(limits)) or NONE


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Records in the administration -----------------------------------------------------------------------


def _records() -> str:
    head = ("Address", "Records", "Add", "Change", "Second person")
    changed, viewed = [], []
    for pages, by_page in sorted(_rules_of_records().items(), key=lambda item: item[0].opts.label_lower):
        address = f"`/admin/{pages.opts.label_lower.replace('.', '/')}/`"
        name = _sentence(str(pages.opts.verbose_name_plural))
        add, change = by_page["add"].writers, by_page["change"].writers or by_page["changelist"].writers
        if add or change:
            shown = [who_shown(each) if each else NONE for each in (add, change)]
            changed.append((address, name, *shown, _second_person(by_page)))
        else:
            viewed.append(f"- {name}: {address}")
    text = """Each kind of record has a list, a page for each record with its history, and the URLs `add/`, `{id}/change/`,
`{id}/history/` and `{id}/delete/` below the list's. Viewing needs the permission to view these records, such as
`payments.view_transaction`. Nothing can be deleted: `delete/` returns 403 for everyone, and so do `add/` and `change/` if the
table names no one. Every submission requires recent reauthentication. Deliveries are resent from their list.
These URLs have no limit."""
    table = _table(head, changed)
    return "\n".join(
        ["## Records in the administration", "", text, "", *table, "", "Only viewed:", "", *viewed, ""]
    )


def _rules_of_records() -> dict[ModelAdmin, dict[str, AccessRule]]:
    """Return the rules of the pages that Django makes for each kind of record, by the page."""
    found: dict[ModelAdmin, dict[str, AccessRule]] = defaultdict(dict)
    for _, pattern in routes():
        rule = rule_of(pattern.callback)
        if rule is not None and hasattr(pattern.callback, "model_admin"):
            found[pattern.callback.model_admin][(pattern.name or "").rpartition("_")[2]] = rule
    return found


def _second_person(by_page: dict[str, AccessRule]) -> str:
    ways = [page for page in ("add", "change") if by_page[page].needs_second_person]
    return f"To {' or '.join(ways)}" if ways else "No"


# Limits ----------------------------------------------------------------------------------------------


def _limits() -> str:
    rows = [(_sentence(limit), _amount(limit), _beyond(limit)) for limit in Limit]
    text = """The limits named in the tables above. Bodies are limited to 64 KiB everywhere, and the acquirer to a number of
messages per hour; see [Limits](limits.md) for these and other sizes. A proxy in front may also limit connections."""
    return "\n".join(["## Limits", "", text, "", *_table(("Limit", "Allowed", "When exceeded"), rows)]) + "\n"


def _amount(limit: Limit) -> str:
    if limit in COUNTED:
        return "; ".join(f"{_throttle(each)} per {subject}" for each, subject in COUNTED[limit].items())
    return {
        Limit.KEY: (
            f"`RATE_LIMIT_READS` and `RATE_LIMIT_WRITES` per key and second; {rate_limits.SANDBOX_CALLS} calls below "
            f"`{rate_limits.SANDBOX_PATHS}`"
        ),
        Limit.CARD_NUMBER: f"{MOST_CARD_NUMBER_MISMATCHES} requests with a different card number per reference",
        Limit.CHALLENGE: f"{Challenge.WRONG_CODES_ALLOWED} wrong codes per payment",
        Limit.PAYER_VIEWS: (
            f"{payer_requests.VIEWS} a minute per address, {payer_requests.UNKNOWN} wrong addresses, "
            f"{payer_requests.STATES} states per checkout"
        ),
        Limit.GUEST_VIEWS: f"{guest_views.VIEWS} a minute per address, {guest_views.UNKNOWN} wrong addresses",
        Limit.CHECKOUTS: (
            f"{checkout_limits.MOST_UNPAID_CHECKOUTS} unpaid in {in_words(checkout_limits.SHORT)} per address, unless "
            "many were paid"
        ),
        Limit.DECLINES: (
            f"{checkout_limits.MOST_DECLINES_OF_ADDRESS} in {in_words(checkout_limits.SHORT)} per address, unless many "
            f"succeeded; {card_declines.MOST_DECLINES} in {in_words(card_declines.REMEMBERED_FOR)} per card"
        ),
        Limit.EXPORT: f"{rate_limits.EXPORTS} in {in_words(timedelta(seconds=rate_limits.EXPORT_WINDOW))} per user",
        Limit.READINESS: "one check a second per process",
    }[limit]


def _throttle(limit: Throttle) -> str:
    return f"{limit.slots} in {in_words(limit.window)}"


def _beyond(limit: Limit) -> str:
    return {
        Limit.KEY: "429 `rate_limited`",
        Limit.CARD_NUMBER: "409 `duplicate_reference` for every card",
        Limit.CHALLENGE: "the payment fails",
        Limit.PAYER_VIEWS: "429",
        Limit.GUEST_VIEWS: "429",
        Limit.CHECKOUTS: "429",
        Limit.DECLINES: "another card, or a transfer",
        Limit.RESET: "429",
        Limit.EXPORT: "429",
        Limit.READINESS: "returns the last check",
    }.get(limit, "the form shows an error")
