"""System checks: views without access rules, unusable connectors, rails without a connector, missing mail server."""

from typing import Any

from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from config.environment import variable_names
from kit.connectors import connectors
from kit.terminal.terminal import INSTALLATION
from merchants.people.access import rules
from payments import rails
from payments.rails.protocol import CardAcquirer, PayoutBank
from virtual_accounts.providers import PROVIDERS
from virtual_accounts.providers.protocol import AccountProvider

RAILS = {
    "CARD_ACQUIRER": "card payments and card checks",
    "PAYOUT_BANK": "payouts",
    "ACCOUNT_PROVIDER": "virtual accounts and payments into them",
}
REGISTRIES: dict[str, tuple[dict[str, str], type]] = {
    "CARD_ACQUIRER": (rails.ACQUIRERS, CardAcquirer),
    "PAYOUT_BANK": (rails.BANKS, PayoutBank),
    "ACCOUNT_PROVIDER": (PROVIDERS, AccountProvider),
}


@checks.register(checks.Tags.urls)
def every_view_has_an_access_rule(**_: Any) -> list[checks.CheckMessage]:
    """Report views that every request would be refused."""
    return [
        checks.Error(
            f"The view of “{route}” has no access rule.",
            hint="Declare who may use it, with a decorator of `merchants.people.access` or `dashboard.memberships`.",
            id="sluice.views.no_access_rule",
        )
        for route, rule in rules().items()
        if rule is None
    ]


@checks.register(INSTALLATION)
def every_connector_is_usable(**_: Any) -> list[checks.CheckMessage]:
    """Report connectors that don't exist or lack settings."""
    problems: list[checks.CheckMessage] = []
    for name in RAILS:
        ours, protocol = REGISTRIES[name]
        chosen = getattr(settings, name)
        try:
            if chosen:
                connectors.make(ours.get(chosen, chosen), protocol=protocol)
        except ImproperlyConfigured as problem:
            problems.append(checks.Error(f"{name}: {problem}", id=f"sluice.{name}.unusable"))
    return problems


@checks.register(INSTALLATION)
def connectors_have_names(**_: Any) -> list[checks.CheckMessage]:
    """Report connectors that are set by the path of their class."""
    return [
        checks.Warning(
            f"{name} is a dotted name, which the next release doesn't accept.",
            hint=f"Set {name} to the name of a connector: {', '.join(ours)}.",
            id=f"sluice.{name}.dotted",
        )
        for name, (ours, _) in REGISTRIES.items()
        if "." in getattr(settings, name)
    ]


@checks.register(INSTALLATION)
def every_rail_has_a_connector(**_: Any) -> list[checks.CheckMessage]:
    """Report rails without a connector, which return 503, unless RAILS_NOT_USED has them."""
    not_used = {settings.RAIL_CONNECTORS[rail] for rail in settings.RAILS_NOT_USED}
    return [
        checks.Warning(
            f"{name} is not set: {what} will be answered with 503 rail_unavailable.",
            hint=f"Set {name} to the name of a connector ({', '.join(REGISTRIES[name][0])}), or add the rail to RAILS_NOT_USED.",
            id=f"sluice.{name}",
        )
        for name, what in RAILS.items()
        if not getattr(settings, name) and name not in not_used
    ]


@checks.register(INSTALLATION)
def variables_are_spelt_right(**_: Any) -> list[checks.CheckMessage]:
    """Report names of variables that are similar to ours. Not a warning: they may belong to other programs."""
    return [checks.Info(sentence, id="sluice.variables") for sentence in variable_names.misspelt()]


@checks.register(INSTALLATION)
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
