"""The merchant dashboard."""

from importlib import import_module

from django.apps import AppConfig


class DashboardConfig(AppConfig):
    name = "dashboard"
    verbose_name = "Dashboard"

    def ready(self) -> None:
        for receivers in ("dashboard.account.audit", "dashboard.account.library_columns"):
            import_module(receivers)
