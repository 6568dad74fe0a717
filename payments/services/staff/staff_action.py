"""An action of staff as a value, so that it can be performed at once, or stored and performed when it is confirmed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple, cast
from uuid import UUID

from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Proposal
from payments.services.staff.made_about import MadeAbout


@dataclass(frozen=True, slots=True, kw_only=True)
class StaffAction:
    """An action with its target. Amounts are minor units; without one, the currency is empty."""

    kind: Proposal.Action
    target: UUID
    business: Business | None
    currency: str = ""
    amount: int = 0
    reason: str
    evidence: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    made_about: MadeAbout
    needs_second_person: bool = True  # where FOUR_EYES is on
    is_exception: bool = False  # needs one also where FOUR_EYES is off
    proposed_by: str = ""  # of a proposal that is confirmed

    @property
    def owner(self) -> Business:
        """The business of an action with an amount."""
        return cast("Business", self.business)


AfterCommit = Callable[[], object]  # calls a rail, so it must run outside a database transaction


class Handler(NamedTuple):
    """What performs a kind of action."""

    lock_and_make: Callable[
        [StaffAction], StaffAction
    ]  # locks the target, and makes it about its present state
    perform: Callable[[StaffAction, Actor, datetime], AfterCommit | None]
