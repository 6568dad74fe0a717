"""What is set at a payment link, in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from kit.time.durations import in_words
from payments.models import PaymentLink, Transaction

Method = Transaction.Method

METHOD_NAMES = {Method.CARD: "card", Method.VIRTUAL_ACCOUNT: "bank transfer"}
FIELD_NAMES = {"name": "name", "email": "email", "phone": "phone"}


@dataclass(frozen=True, slots=True)
class LinkFacts:
    link: PaymentLink

    @property
    def methods(self) -> str:
        """Return the methods in the order of the page: "card or bank transfer"."""
        return " or ".join(METHOD_NAMES[Method(each)] for each in self.link.payment_methods)

    @property
    def uses_note(self) -> str:
        """Return the uses that are held and left: "1 held · 15 left"."""
        link = self.link
        left = "no limit" if link.uses_left is None else f"{link.uses_left:,} left"
        note = f"{link.uses_held:,} held · {left}" if link.uses_held else left
        return note[:1].upper() + note[1:]

    @property
    def asks_for(self) -> str:
        """Return what payers are asked for: "Name, email, phone (optional)"."""
        asked = {field: self.link.asks_for(field) for field in FIELD_NAMES if not self._is_known(field)}
        names = [
            f"{FIELD_NAMES[field]}{' (optional)' if how == 'optional' else ''}"
            for field, how in asked.items()
            if how != "no"
        ]
        return ", ".join(names).capitalize() or "Nothing"

    def _is_known(self, field: str) -> bool:
        """Return whether the merchant gave it with the link's customer."""
        known = {"name": self.link.customer_name, "email": self.link.customer_email}
        return bool(known.get(field))

    @property
    def transfer_window(self) -> str:
        """Return the time to transfer, such as "30 minutes"; empty if the link takes no transfers."""
        if not self.link.accepts(Method.VIRTUAL_ACCOUNT):
            return ""
        return in_words(timedelta(seconds=self.link.transfer_window), parts=2)
