"""Permissions of each role in a business, in one table for views, templates and tests.

>>> may(Role.FINANCE, Permission.REFUND), may(Role.VIEWER, Permission.REFUND)
(True, False)
>>> denial_reason(Permission.REFUND)
'Only owners and finance may refund a payment.'
"""

from collections.abc import Collection
from enum import StrEnum

from merchants.models import Member

Role = Member.Role


class Permission(StrEnum):
    """A kind of action."""

    VIEW = "view"  # all read-only pages and their exports
    CAPTURE = "capture"  # capture or void an authorisation, cancel a payment
    REFUND = "refund"
    ADD_NOTES = "add_notes"  # notes on payments and payouts, for the other members
    VIEW_INVOICES = "view_invoices"  # of our fees
    PAY_OUT = "pay_out"
    MANAGE_LINKS = "manage_links"  # payment links: create, change, switch off, end attempts
    MANAGE_ACCOUNTS = "manage_accounts"  # virtual accounts: create, deactivate
    RESOLVE_UNAPPLIED = "resolve_unapplied"  # credit or return money that matches no payment
    ANSWER_DISPUTES = "answer_disputes"  # add evidence, submit it, accept
    SHARE_STATEMENTS = "share_statements"  # guest links of monthly statements: create, revoke
    MANAGE_KEYS = "manage_keys"  # API keys: create, rotate, revoke
    MANAGE_WEBHOOKS = "manage_webhooks"  # settings, signing key, test event
    REPLAY_WEBHOOKS = "replay_webhooks"
    TRY_FLOWS = "try_flows"  # the sandbox page
    MANAGE_TEAM = "manage_team"  # members, roles, invitations
    MANAGE_SETTINGS = "manage_settings"  # of the business


GRANTS: dict[Permission, frozenset[Role]] = {
    Permission.VIEW: frozenset(Role),
    Permission.CAPTURE: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.REFUND: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.ADD_NOTES: frozenset({Role.OWNER, Role.DEVELOPER, Role.FINANCE}),
    Permission.VIEW_INVOICES: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.PAY_OUT: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.MANAGE_LINKS: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.MANAGE_ACCOUNTS: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.RESOLVE_UNAPPLIED: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.ANSWER_DISPUTES: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.SHARE_STATEMENTS: frozenset({Role.OWNER, Role.FINANCE}),
    Permission.MANAGE_KEYS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.MANAGE_WEBHOOKS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.REPLAY_WEBHOOKS: frozenset({Role.OWNER, Role.DEVELOPER}),
    Permission.TRY_FLOWS: frozenset({Role.OWNER, Role.DEVELOPER, Role.FINANCE}),
    Permission.MANAGE_TEAM: frozenset({Role.OWNER}),
    Permission.MANAGE_SETTINGS: frozenset({Role.OWNER}),
}

_ACTIONS = {
    Permission.VIEW: "view this business",
    Permission.CAPTURE: "capture, void or cancel a payment",
    Permission.REFUND: "refund a payment",
    Permission.ADD_NOTES: "add notes to payments",
    Permission.VIEW_INVOICES: "view fee invoices",
    Permission.PAY_OUT: "make payouts",
    Permission.MANAGE_LINKS: "create, change or switch off payment links",
    Permission.MANAGE_ACCOUNTS: "create or deactivate virtual accounts",
    Permission.RESOLVE_UNAPPLIED: "credit or return unapplied transfers",
    Permission.ANSWER_DISPUTES: "answer or accept disputes",
    Permission.SHARE_STATEMENTS: "share monthly statements",
    Permission.MANAGE_KEYS: "create, rotate or revoke API keys",
    Permission.MANAGE_WEBHOOKS: "change webhooks or their signing key",
    Permission.REPLAY_WEBHOOKS: "resend deliveries",
    Permission.TRY_FLOWS: "use the sandbox page",
    Permission.MANAGE_TEAM: "invite people or change roles",
    Permission.MANAGE_SETTINGS: "change the settings",
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


def denial_reason(permission: Permission) -> str:
    """Return the message for members without a permission."""
    return f"Only {names_of(GRANTS[permission])} may {_ACTIONS[permission]}."


def names_of(roles: Collection[Role]) -> str:
    """Return the names of roles as text.

    >>> names_of({Role.OWNER, Role.FINANCE})
    'owners and finance'
    """
    *others, last = [name for role, name in _PEOPLE.items() if role in roles]
    return f"{', '.join(others)} and {last}" if others else last


def actions_of(role: Role) -> str:
    """Return a description of what a role may do."""
    pages = "every page" if may(role, Permission.VIEW_INVOICES) else "every page except fee invoices"
    if role == Role.VIEWER:
        return f"Can view {pages}, but not change anything. Suits customer support."
    viewing = (Permission.VIEW, Permission.VIEW_INVOICES)
    actions = [_ACTIONS[each] for each in Permission if role in GRANTS[each] and each not in viewing]
    if role == Role.OWNER:
        return "Can do everything, including managing roles."
    return f"Can view {pages}, {', '.join(actions[:-1])}, and {actions[-1]}."
