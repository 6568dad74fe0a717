"""Hide links that are a payer's credential, such as `redirect_link`, in documents on pages.

Opening such a link is enough to decline the payment, so only roles that may cancel the payment see it.
"""

import json
from typing import Any

from dashboard.memberships import Membership
from kit.files import bounded_json
from merchants.people import roles
from merchants.people.roles import Permission

PAYER_LINKS = frozenset({"redirect_link"})
HIDDEN = f"Hidden. {roles.denial_reason(Permission.CAPTURE)}"


def shown_to(membership: Membership, document: Any) -> Any:
    """Return a document as a member may see it: unchanged, or with its payer links replaced by an explanation."""
    return (
        document if roles.may(membership.member.role, Permission.CAPTURE) else without_payer_links(document)
    )


def text_shown_to(membership: Membership, text: str) -> str:
    """Return a JSON text as a member may see it: unchanged, unless a payer link has to be replaced."""
    if roles.may(membership.member.role, Permission.CAPTURE) or not any(name in text for name in PAYER_LINKS):
        return text
    try:
        return json.dumps(without_payer_links(bounded_json.loads(text)), ensure_ascii=False)
    except ValueError:
        return HIDDEN


def without_payer_links(document: Any) -> Any:
    """Replace the payer links at any depth of a document.

    >>> without_payer_links({"data": {"id": "1", "redirect_link": "https://…/3ds/x"}})["data"]["redirect_link"]
    'Hidden. Only owners and finance may capture, void or cancel a payment.'
    """
    if isinstance(document, dict):
        return {
            name: HIDDEN if name in PAYER_LINKS and value else without_payer_links(value)
            for name, value in document.items()
        }
    if isinstance(document, list):
        return [without_payer_links(each) for each in document]
    return document
