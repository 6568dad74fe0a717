"""Saved views of a member: at most `MOST` in a business, with unique names in each list."""

from __future__ import annotations

from urllib.parse import parse_qsl, urlencode

from django.db import IntegrityError, transaction

from dashboard.models import SavedView
from dashboard.ui.components.chips import OF_A_PAGE
from kit.db import clock
from kit.text.masking import mask_card_numbers
from merchants.models import Member

MOST = 20


class TooManyViews(Exception):
    """The member has as many views as they may have. The message is for the page."""

    def __init__(self) -> None:
        super().__init__(f"You have {MOST} saved views. Delete one before you save another.")


@transaction.atomic
def save(member: Member, *, listed: str, name: str, query: str) -> SavedView:
    """Save the filters of a list. A view with the same name is replaced.

    :raises TooManyViews: the member has `MOST` views
    """
    Member.objects.select_for_update().get(pk=member.pk)  # two requests must not both save the last view
    mine = SavedView.objects.filter(member=member)
    is_new = not mine.filter(list=listed, name=name).exists()
    if is_new and mine.count() >= MOST:
        raise TooManyViews
    view, _ = SavedView.objects.update_or_create(
        member=member, list=listed, name=name,
        defaults={"query": normalised(query)}, create_defaults={"query": normalised(query), "created_at": clock.now()},
    )  # fmt: skip
    return view


def rename(view: SavedView, name: str) -> bool:
    """Rename a view. Return False if another view of the list has the name."""
    view.name = name
    try:
        with transaction.atomic():
            view.save(update_fields=["name"])
    except IntegrityError:
        return False
    return True


def normalised(query: str) -> str:
    """Return the filters of a query string, without the page, and without card numbers.

    >>> normalised("?status=failed&q=&before=x&period=7d"), normalised("q=4084084084084081")
    ('status=failed&period=7d', 'q=408408%2A%2A%2A%2A%2A%2A4081')
    """
    given = parse_qsl(query.removeprefix("?"))
    kept = [(name, mask_card_numbers(value)) for name, value in given if name not in OF_A_PAGE]
    return urlencode(kept)
