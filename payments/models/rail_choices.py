"""Connectors of businesses that override those in the settings."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models

from kit.connectors import connectors
from merchants.models import Business
from payments import rails
from payments.rails.protocol import CardAcquirer, PayoutBank


def is_usable_acquirer(name: str) -> None:
    """Validate that an acquirer exists, is configured, and isn't the sandbox's in production."""
    _check_usable(name, rails.ACQUIRERS, CardAcquirer)


def is_usable_bank(name: str) -> None:
    """Validate that a bank exists, is configured, and isn't the sandbox's in production."""
    _check_usable(name, rails.BANKS, PayoutBank)


def _check_usable(name: str, ours: dict[str, str], protocol: type) -> None:
    if name not in ours:
        raise ValidationError(f"Choose one of {', '.join(ours)}.")
    if not settings.SANDBOX and name == "sandbox":
        raise ValidationError("Sandbox connectors can't be used in production.")
    try:
        connectors.make(ours[name], protocol=protocol)
    except ImproperlyConfigured as problem:
        raise ValidationError(str(problem)) from None


def acquirers() -> list[tuple[str, str]]:
    return [(name, name) for name in rails.ACQUIRERS]


def banks() -> list[tuple[str, str]]:
    return [(name, name) for name in rails.BANKS]


class RailChoice(models.Model):
    """A business's own connectors, by name. An empty one falls back to CARD_ACQUIRER or PAYOUT_BANK.

    A change applies to new transactions. Existing ones keep the connector that they were sent to.
    """

    business = models.OneToOneField(Business, on_delete=models.PROTECT, primary_key=True, related_name="+")
    card_acquirer = models.CharField(
        max_length=200,
        blank=True,
        choices=acquirers,
        validators=[is_usable_acquirer],
        help_text="Empty: CARD_ACQUIRER's.",
    )
    payout_bank = models.CharField(
        max_length=200,
        blank=True,
        choices=banks,
        validators=[is_usable_bank],
        help_text="Empty: PAYOUT_BANK's.",
    )

    def __str__(self) -> str:
        return f"connectors of {self.business}"
