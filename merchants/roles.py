"""What each role of a business may do: the one table, read by views, templates and tests alike.

>>> may(Role.FINANCE, Permission.REFUND), may(Role.VIEWER, Permission.REFUND)
(True, False)
>>> why_not(Permission.REFUND)
'Only owners and finance may refund a payment.'
"""

from collections.abc import Collection
from enum import StrEnum

from merchants.models import Member

Role = Member.Role


class Permission(StrEnum):
    """One kind of act."""

    LOOK = "look"  # every page that only shows something, and its export
    CAPTURE = "capture"  # capture or void an authorisation, cancel a payment
    REFUND = "refund"
    PAY_OUT = "pay_out"
    MANAGE_ACCOUNTS = "manage_accounts"  # virtual accounts: create, deactivate
    RESOLVE_UNAPPLIED = "resolve_unapplied"  # say what becomes of money that fits no payment
    MANAGE_KEYS = "manage_keys"  # API keys: create, rotate, revoke
    MANAGE_WEBHOOKS = "manage_webhooks"  # settings, signing key, test event
    REPLAY_WEBHOOKS = "replay_webhooks"
    TRY_FLOWS = "try_flows"  # the sandbox page
    MANAGE_TEAM = "manage_team"  # members, roles, invitations


GRANTS: dict[Permission, frozenset[Role]] = {
    Permission.LOOK: frozenset(Role),
    Permission.CAPTURE: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.REFUND: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.PAY_OUT: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.MANAGE_ACCOUNTS: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.RESOLVE_UNAPPLIED: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.MANAGE_KEYS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.MANAGE_WEBHOOKS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.REPLAY_WEBHOOKS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.TRY_FLOWS: frozenset({Role.OWNER, Role.DEVELOPER, Role.FINANCE}),
    Permission.MANAGE_TEAM: frozenset({Role.OWNER}),
}

_ACTS = {
    Permission.LOOK: "look at this business",
    Permission.CAPTURE: "capture, void or cancel a payment",
    Permission.REFUND: "refund a payment",
    Permission.PAY_OUT: "make payouts",
    Permission.MANAGE_ACCOUNTS: "create or deactivate virtual accounts",
    Permission.RESOLVE_UNAPPLIED: "settle unapplied money",
    Permission.MANAGE_KEYS: "create, rotate or revoke API keys",
    Permission.MANAGE_WEBHOOKS: "change webhooks or their signing key",
    Permission.REPLAY_WEBHOOKS: "send deliveries again",
    Permission.TRY_FLOWS: "try things out in the sandbox",
    Permission.MANAGE_TEAM: "invite people or change roles",
}

_PEOPLE = {
    Role.OWNER: "owners",
    Role.DEVELOPER: "developers",
    Role.FINANCE: "finance",
    Role.VIEWER: "viewers",
}


def may(role: str, permission: Permission) -> bool:
    return role in GRANTS[permission]


def may_invite(inviter: str, *, to: str) -> bool:
    """Return whether a member with one role may invite a person to another role."""
    return may(inviter, Permission.MANAGE_TEAM) and to in set(Role)


def why_not(permission: Permission) -> str:
    """Return the sentence for those who may not."""
    return f"Only {names_of(GRANTS[permission])} may {_ACTS[permission]}."


def names_of(roles: Collection[Role]) -> str:
    """Return the members with one of these roles, in words.

    >>> names_of({Role.OWNER, Role.FINANCE})
    'owners and finance'
    """
    *others, last = [name for role, name in _PEOPLE.items() if role in roles]
    return f"{', '.join(others)} and {last}" if others else last


def acts_of(role: Role) -> str:
    """Return what a role may do, in a sentence."""
    if role == Role.VIEWER:
        return "Sees every page, changes nothing."
    acts = [_ACTS[each] for each in Permission if role in GRANTS[each] and each != Permission.LOOK]
    if role == Role.OWNER:
        return "Everything, other people's roles included."
    return f"Sees every page; may {', '.join(acts[:-1])}, and {acts[-1]}."
