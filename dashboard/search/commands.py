"""What the search offers beside objects: actions that the member may take, and pages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.urls import NoReverseMatch, reverse

from dashboard.memberships import Membership
from dashboard.search.results import Results
from dashboard.ui.navigation import ACCOUNT, AREAS
from kit.money.money import money
from kit.text.display_names import pasted
from kit.text.folding import fold
from merchants.people.roles import Permission
from payments.models import Transaction

SHOWN = 6  # actions and pages that match a text


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """An action or a page, as a link."""

    name: str
    address: str
    icon: str  # of heroicons
    text: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """`acts` are links to forms, which ask for what they need. Nothing is done before a form is submitted."""

    acts: Sequence[Command]
    places: Sequence[Command]


@dataclass(frozen=True, slots=True)
class _Page:
    name: str
    page: str  # the name of its URL
    icon: str
    may: Permission = Permission.VIEW
    words: str = ""  # other words that find it

    @property
    def address(self) -> str:
        """Return its path; empty if there is none: only a sandbox has the page Sandbox."""
        try:
            return reverse(self.page)
        except NoReverseMatch:
            return ""


_ACTS = (
    _Page("Create payment link", "dashboard-new-link", "link", Permission.MANAGE_LINKS, "new invoice request money"),
    _Page("New payout", "dashboard-new-payout", "paper-airplane", Permission.PAY_OUT, "send pay transfer money"),
    _Page("Pay many", "dashboard-new-batch", "users", Permission.PAY_OUT, "new batch payouts salaries upload file"),
    _Page("Add beneficiary", "dashboard-new-beneficiary", "user-plus", Permission.PAY_OUT, "new save supplier"),
    _Page("Create virtual account", "dashboard-new-virtual-account", "building-library", Permission.MANAGE_ACCOUNTS, "new number"),
    _Page("Create API key", "dashboard-new-key", "key", Permission.MANAGE_KEYS, "new secret"),
    _Page("Resend deliveries", "dashboard-replay-range", "arrow-path", Permission.REPLAY_WEBHOOKS, "replay events retry webhooks"),
    _Page("Add webhook endpoint", "dashboard-new-endpoint", "signal", Permission.MANAGE_WEBHOOKS, "new create"),
    _Page("Invite member", "dashboard-invite", "user-plus", Permission.MANAGE_TEAM, "add team colleague"),
)  # fmt: skip

_PLACES = (
    _Page("Payout batches", "dashboard-batches", "users", words="many"),
    _Page("Beneficiaries", "dashboard-beneficiaries", "user-circle", words="saved suppliers"),
    _Page("Success rates", "dashboard-success-rates", "chart-bar", words="declines failures banks cards bin"),
    _Page("Unapplied transfers", "dashboard-unapplied", "banknotes", words="held unmatched money"),
    _Page("Deliveries", "dashboard-deliveries", "bolt", words="events webhooks"),
    _Page("Webhook settings", "dashboard-webhooks", "bolt", words="url signing key rotate retry schedule"),
    _Page("Webhook endpoints", "dashboard-endpoints", "signal", words="urls"),
    _Page("Requests", "dashboard-requests", "code-bracket", words="api log"),
    _Page("Signature checker", "dashboard-signature", "check-badge", words="signing"),
    _Page("Receiver exam", "dashboard-exam", "academic-cap", words="test endpoint webhooks"),
    _Page(
        "Payout settings", "dashboard-payout-settings", "cog-6-tooth", words="limits approval second person"
    ),
    _Page(
        "Settlement account",
        "dashboard-settlement-account",
        "building-library",
        words="bank pay out automatically schedule",
    ),
)
_EVERY_PLACE = (
    *(_Page(area.name, area.page, area.icon) for area in (*AREAS, *ACCOUNT)),
    *_PLACES,
)


def commands(membership: Membership, text: str, results: Results) -> Commands:
    """Return the actions and pages that a text names; all of them for an empty text.

    Every word of the text begins a word of the name, or another word for it.
    """
    may, wanted = membership.may, fold(pasted(text)).split()
    acts = [each for each in _ACTS if may[each.may] and _is_named(each, wanted)]
    places = [each for each in _EVERY_PLACE if _is_named(each, wanted) and each.address]
    return Commands(
        acts=[*(_refunds(results) if may[Permission.REFUND] else ()), *(_command(each) for each in acts)],
        places=[_command(each) for each in (places[:SHOWN] if wanted else places)],
    )


def _is_named(page: _Page, wanted: Sequence[str]) -> bool:
    words = fold(f"{page.name} {page.words}").split()
    return all(any(word.startswith(each) for word in words) for each in wanted)


def _command(page: _Page) -> Command:
    return Command(name=page.name, address=page.address, icon=page.icon)


def _refunds(results: Results) -> Iterator[Command]:
    """Yield the refund of the only payment that was found, if money is left to refund."""
    found = [hit.row for group in results.groups if group.name == "Payments" for hit in group.hits]
    if len(found) == 1 and found[0].status == Transaction.Status.SUCCESS and found[0].amount_refundable > 0:
        (payment,) = found
        yield Command(
            name=f"Refund payment {payment.reference}",
            address=reverse("dashboard-new-refund", args=[payment.pk]),
            icon="arrow-uturn-left",
            text=f"{money(payment.amount_refundable, payment.currency)} left",
        )
