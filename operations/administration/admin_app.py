"""The admin application, with our own site in place of Django's.

Its pages import half of the code, a third of a command's start. They are registered with the addresses
(`config/urls.py`) and before they are checked.
"""

from typing import Any

from django.contrib import admin
from django.contrib.admin.apps import SimpleAdminConfig
from django.contrib.admin.checks import check_admin_app, check_dependencies
from django.core import checks


class AdministrationConfig(SimpleAdminConfig):
    default_site = "operations.administration.admin_site.Site"

    def ready(self) -> None:
        checks.register(check_dependencies, checks.Tags.admin)
        checks.register(check_pages, checks.Tags.admin)


def check_pages(app_configs: Any, **options: Any) -> list[checks.CheckMessage]:
    """Register all pages, and check them as Django does."""
    admin.autodiscover()
    return list(check_admin_app(app_configs, **options))
