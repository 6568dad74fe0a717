"""The declaration that a connector's new address is the account that orders were sent to, as an action of staff."""

from datetime import datetime
from uuid import NAMESPACE_OID, uuid5

from django.db import transaction as database

from merchants.people import audit
from merchants.people.audit import Actor
from payments import rails
from payments.models import AccountDeclaration, CardOperation, InvalidState, Proposal, Transaction
from payments.services.rails import declared_accounts as accounts
from payments.services.rails.rail_queries import rail_outages
from payments.services.staff.staff_action import StaffAction


class NotConfigured(InvalidState):
    default_detail = "This connector isn't configured, so it has no account that could be the same."


class NothingSent(InvalidState):
    default_detail = "No order was sent to this account. Copy it from the page of a transaction."


class SameAlready(InvalidState):
    default_detail = "This is the configured account already, or is declared to be the same."


def declaration(*, connector: str, former: str, reason: str) -> StaffAction:
    """Return the declaration that a former account is the one that its connector is configured for now.

    :raises NotConfigured: the connector has no account now
    :raises NothingSent: no order was ever sent to the former account
    :raises SameAlready: orders that were sent to the former account don't wait
    """
    configured = rails.accounts(connector)
    if not configured:
        raise NotConfigured
    sent = [
        model.objects.filter(connector=connector, account=former) for model in (Transaction, CardOperation)
    ]
    if not any(orders.exists() for orders in sent):
        raise NothingSent
    if accounts.sent_to(connector, former).accounts & configured:
        raise SameAlready
    return StaffAction(
        kind=Proposal.Action.DECLARE_ACCOUNT,
        target=uuid5(NAMESPACE_OID, f"sluice account {connector} {former}"),
        business=None,
        reason=reason,
        parameters={"id": None, "name": former, "connector": connector},
        made_about={"configured_account": min(configured)},
    )


def make_again(action: StaffAction) -> StaffAction:
    """Make the same action about what is configured now."""
    named = action.parameters
    return declaration(connector=named["connector"], former=named["name"], reason=action.reason)


def perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    """Store that two accounts are one, and make what waits for the former one due."""
    connector, former = action.parameters["connector"], action.parameters["name"]
    present = str(action.made_about["configured_account"])
    AccountDeclaration.objects.get_or_create(
        connector=connector,
        former=former,
        present=present,
        defaults={"declared_by": actor.name, "declared_at": now},
    )
    operations = CardOperation.objects.unanswered()
    for unanswered in (
        Transaction.objects.unanswered().filter(connector=connector, account=former),
        operations.filter(connector=connector, account=former),
        operations.filter(connector="", transaction__connector=connector, transaction__account=former),
    ):
        rail_outages.bring_forward(unanswered, now=now)
    audit.record(
        action="account.declared",
        actor=actor,
        business=None,
        target=former[:100],
        after={"connector": connector, "account": former, "same_as": present, "reason": action.reason},
        now=now,
    )
    accounts.cached_declarations.cache_clear()
    database.on_commit(accounts.cached_declarations.cache_clear)
