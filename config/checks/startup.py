"""System checks: unusable connectors, rails without a connector, missing mail server."""

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from config import variable_names
from kit import connectors

RAILS = {
    "CARD_ACQUIRER": "card payments and card checks",
    "PAYOUT_BANK": "payouts",
    "ACCOUNT_PROVIDER": "virtual accounts and payments into them",
}


@checks.register()
def every_connector_is_usable(**_: Any) -> list[checks.CheckMessage]:
    """Report connectors that don't exist or lack settings."""
    problems: list[checks.CheckMessage] = []
    for name in RAILS:
        try:
            if getattr(settings, name):
                connectors.make(getattr(settings, name))
        except ImproperlyConfigured as problem:
            problems.append(checks.Error(f"{name}: {problem}", id=f"sluice.{name}.unusable"))
    return problems


@checks.register()
def every_rail_has_a_connector(**_: Any) -> list[checks.CheckMessage]:
    """Report rails without a connector, which return 503."""
    return [
        checks.Warning(
            f"{name} is not set: {what} will be answered with 503 rail_unavailable.",
            hint=f"Set {name} to a connector's dotted name.",
            id=f"sluice.{name}",
        )
        for name, what in RAILS.items()
        if not getattr(settings, name)
    ]


@checks.register()
def variables_are_spelt_right(**_: Any) -> list[checks.CheckMessage]:
    """Report names of variables that are similar to ours. Not a warning: they may belong to other programs."""
    return [checks.Info(sentence, id="sluice.variables") for sentence in variable_names.misspelt()]


@checks.register()
def mails_are_sent(**_: Any) -> list[checks.CheckMessage]:
    """Report that password resets can't be mailed."""
    if not settings.EMAIL_BACKEND.endswith("dummy.EmailBackend"):
        return []
    return [
        checks.Warning(
            "MAIL_URL is not set: invitations and password resets are not mailed, and invited people without an account cannot join.",
            hint="Set MAIL_URL, such as smtp+tls://user:password@host:587.",
            id="sluice.MAIL_URL",
        )
    ]
