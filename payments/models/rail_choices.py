"""Connectors of businesses that override those in the settings."""

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import models

from kit import connectors
from merchants.models import Business
from payments import rails


def is_usable_connector(dotted_name: str) -> None:
    """Validate that a connector exists, is configured, and isn't a sandbox connector in production."""
    if not settings.SANDBOX and "sandbox" in dotted_name:
        raise ValidationError("Sandbox connectors can't be used in production.")
    try:
        connectors.make(dotted_name)
    except ImproperlyConfigured as problem:
        raise ValidationError(str(problem)) from None


class RailChoice(models.Model):
    """A business's own connectors, by dotted name. An empty one falls back to CARD_ACQUIRER or PAYOUT_BANK.

    A change applies to new transactions. Existing ones keep the connector that they were sent to.
    """

    business = models.OneToOneField(Business, on_delete=models.PROTECT, primary_key=True, related_name="+")
    card_acquirer = models.CharField(
        max_length=200,
        blank=True,
        validators=[is_usable_connector],
        help_text=f"Empty: CARD_ACQUIRER's. Ours: {', '.join(rails.ACQUIRERS.values())}.",
    )
    payout_bank = models.CharField(
        max_length=200,
        blank=True,
        validators=[is_usable_connector],
        help_text=f"Empty: PAYOUT_BANK's. Ours: {', '.join(rails.BANKS.values())}.",
    )

    def __str__(self) -> str:
        return f"connectors of {self.business}"
