"""Notes of members on a transaction. All members read them; members who may act on money write them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.db import transaction as database

from dashboard.memberships import Membership
from dashboard.models import Note
from dashboard.ui.forms.forms import PageForm
from kit.text.masking import mask_card_numbers
from merchants.models import Member, User
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import Transaction

SHOWN = 20
SUBMITTED_TWICE = timedelta(minutes=1)  # the same note within this time is one note


class NoteField(forms.CharField):
    """A text whose lines end with one character, as browsers count them."""

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class NoteForm(PageForm):
    text = NoteField(
        max_length=Note.LONGEST,
        label="Note",
        widget=forms.Textarea,
        error_messages={"required": "Enter a note."},
    )


def notes_on(transaction: Transaction) -> list[Note]:
    """Return the newest notes on a transaction, newest first."""
    return list(Note.objects.filter(transaction=transaction).order_by("-pk")[:SHOWN])


@database.atomic
def add_note(
    transaction: Transaction, *, text: str, author: User, membership: Membership, actor: Actor, now: datetime
) -> Note:
    """Store a note, and record that it was written. A form that is submitted twice stores one note."""
    Member.objects.select_for_update().get(pk=membership.member.pk)
    name, text = author.name or author.email, mask_card_numbers(text)
    newest = Note.objects.filter(transaction=transaction).order_by("-pk").first()
    if newest and (newest.author, newest.text) == (name, text) and now - newest.at < SUBMITTED_TWICE:
        return newest
    note = Note.objects.create(transaction=transaction, author=name, text=text, at=now)
    audit.record(
        action=f"{transaction.request_type}.note_added",
        actor=actor,
        business=membership.business,
        target=transaction.reference,
        after={"note": note.text},
        now=now,
    )
    return note
