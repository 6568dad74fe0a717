"""Payment links as pages show them: status, amount and uses in words."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from kit.money.money import money
from payments.models import PaymentLink
from payments.rules.words.status_names import LINK_NAMES


@dataclass(frozen=True, slots=True)
class ShownLink:
    """A link with what its fields say at a moment."""

    link: PaymentLink
    status: PaymentLink.Status
    is_over: bool  # its time is up, whatever its status

    @property
    def status_name(self) -> str:
        return LINK_NAMES[self.status]

    @property
    def amount(self) -> str:
        """Return the amount of one unit, or the range that the payer chooses from."""
        link = self.link
        if link.amount is not None:
            return money(link.amount, link.currency)
        return f"{money(link.amount_min or 0, link.currency)} to {money(link.amount_max or 0, link.currency)}"

    @property
    def uses(self) -> str:
        """Return the uses that are paid, of those there are: "4 of 20", or "4" without a limit."""
        link = self.link
        return f"{link.uses_paid:,}" if link.max_uses is None else f"{link.uses_paid:,} of {link.max_uses:,}"

    @property
    def counted_uses(self) -> int:
        """Return the number that the noun after `uses` agrees with."""
        return self.link.uses_paid if self.link.max_uses is None else self.link.max_uses

    @property
    def held(self) -> str:
        """Return the uses that pending payments hold, such as "1 held"; empty if there is none."""
        return f"{self.link.uses_held:,} held" if self.link.uses_held else ""


def shown(link: PaymentLink, *, now: datetime) -> ShownLink:
    """Return a link with its status at a moment."""
    is_over = link.expires_at is not None and link.expires_at <= now
    return ShownLink(link, link.status_at(now), is_over)
