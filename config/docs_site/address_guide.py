"""The guide `docs/addresses.md`, written from the table of `config.access_rules`: `manage.py address_guide`."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from django.apps import apps

from config import access_rules
from config.access_rules import READ_ONLY, ROWS, Address, Asks, Limit, Who
from dashboard.account import sign_in_limits, webauthn_ceremonies
from dashboard.webhooks import endpoint_views
from kit.durations import in_words
from merchants import rate_limits, team
from merchants.attempt_limits import Limit as Throttle
from merchants.roles import GRANTS, Permission, Role, names_of
from payments.models import Challenge
from payments.models.transactions import MOST_CARD_NUMBER_MISMATCHES
from payments.pages import payer_requests
from payments.services import card_declines, checkout_limits
from webhooks import exams

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
OF_VIEWS = {Limit.EXPORT, Limit.READINESS}

INTRODUCTION = f"""# URLs and access rules

Every URL that Sluice serves: who may use it, whether it requires recent reauthentication, whether a second person
confirms it, and its limits. `make addresses` writes this page from `config/access_rules.py`; the tests fail for a URL
without these rules or with different behaviour. [Security](security.md) describes the threats.

- **Reauthentication.** The user gave a password, a code or a passkey within `REAUTHENTICATION_TIMEOUT`
  (10 minutes). If the column says yes, a user with an older session must reauthenticate first. A URL that isn't
  listed here requires it for every submission.
- **Second person.** With `FOUR_EYES` on, the action is proposed, and another person confirms it. These are actions of
  staff that move money. Superusers need a second person too.
- A table without one of these two columns has no such URL.
- **Members** are the users of a business: {names_of(frozenset(Role))}. Objects of another business
  return 404.
- **Staff** have a permission directly or through a group. Superusers have every permission.
- A page and its form share a line if the same users may use both. Unsupported methods return 405.
"""


def guide() -> str:
    """Return the guide as Markdown."""
    sections = [
        _section("Merchant API", access_rules.OF_KEYS, text="Each call is signed: there is no session."),
        _section(
            "Bank notifications",
            access_rules.OF_BANK,
            text="Each notification is signed: there is no session.",
        ),
        _section("Payer pages", access_rules.OF_PAYERS, text="Payers have no account and no session."),
        _section(
            "Public pages", access_rules.OPEN, text="They show nothing about a business and change nothing."
        ),
        _section("Dashboard", access_rules.OF_MEMBERS),
        _section("Sign-in and own account", access_rules.OF_PEOPLE),
        _section("Administration", access_rules.OF_STAFF),
        _records(),
        _section("Operations", access_rules.OF_OPERATIONS, text="They change nothing."),
        _limits(),
    ]
    return "\n".join([INTRODUCTION, *sections])


def _section(title: str, declared: dict[str, Address], *, text: str = "") -> str:
    """Return the table of an area, without the columns that would say no in each row."""
    rows = [row for route, address in declared.items() for row in _rows_of(route, address)]
    kept = [place for place, name in enumerate(HEAD) if name not in YES_OR_NO or _says_yes(rows, place)]
    table = _table([HEAD[place] for place in kept], ([row[place] for place in kept] for row in rows))
    return "\n".join([f"## {title}", "", *([text, ""] if text else []), *table, ""])


def _says_yes(rows: Iterable[Sequence[str]], place: int) -> bool:
    return any(row[place].startswith("Yes") for row in rows)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    yield _line(head)
    yield _line(["---"] * len(head))
    yield from map(_line, rows)


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows_of(route: str, address: Address) -> Iterator[tuple[str, ...]]:
    """Yield a row for viewing an address, unless its form says it all, and one for what it does."""
    path = f"`{path_shown(route)}`"
    if address.readers is None and address.writers is None:
        yield path, "Nothing: answers 404", "No one", NONE, NONE, _limits_shown(address.limits)
    if address.readers is not None and address.readers != address.writers:
        limits = [each for each in address.limits if each in OF_VIEWS | {Limit.KEY}]
        yield (
            path,
            "View",
            who_shown(address.readers),
            _asks_shown(address, is_act=False),
            "No",
            _limits_shown(limits),
        )
    if address.writers is not None:
        limits = [each for each in address.limits if each not in OF_VIEWS]
        second = "Yes" if address.needs_second_person else "No"
        what = _sentence(address.action)
        yield (
            path,
            what,
            who_shown(address.writers),
            _asks_shown(address, is_act=True),
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


def _asks_shown(address: Address, *, is_act: bool) -> str:
    if address.asks == Asks.ALWAYS:
        return "Yes, to view it too" if is_act else "Yes"
    if address.asks == Asks.TO_ACT:
        return "Yes" if is_act else "No"
    return f"No: {address.reason}" if is_act else "No"


def _limits_shown(limits: Iterable[Limit]) -> str:
    return _sentence(", ".join(limits)) or NONE


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


# Records in the administration -----------------------------------------------------------------------


def _records() -> str:
    head = ("Address", "Records", "Add", "Change", "Second person")
    viewed = [f"- {_name_of(label)}: {_list_of(label)}" for label, each in ROWS.items() if each == READ_ONLY]
    changed = [
        (
            _list_of(label),
            _name_of(label),
            who_shown(each.add) or NONE,
            who_shown(each.change or each.from_list) or NONE,
            "To add" if each.needs_second_person else "No",
        )
        for label, each in ROWS.items()
        if each != READ_ONLY
    ]
    text = """Each kind of record has a list, a page for each record with its history, and the URLs `add/`, `{id}/change/`,
`{id}/history/` and `{id}/delete/` below the list's. Viewing needs the permission to view these records, such as
`payments.view_transaction`. Nothing can be deleted: `delete/` returns 403 for everyone, and so do `add/` and `change/` if the
table names no one. Every submission requires recent reauthentication. Deliveries are resent from their list.
These URLs have no limit."""
    return "\n".join(
        ["### Records", "", text, "", *_table(head, changed), "", "Only viewed:", "", *viewed, ""]
    )


def _list_of(label: str) -> str:
    return f"`/admin/{label.replace('.', '/')}/`"


def _name_of(label: str) -> str:
    return _sentence(str(apps.get_model(label)._meta.verbose_name_plural))


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
        Limit.CHECKOUTS: "429",
        Limit.DECLINES: "another card, or a transfer",
        Limit.RESET: "429",
        Limit.EXPORT: "429",
        Limit.READINESS: "returns the last check",
    }.get(limit, "the form shows an error")
