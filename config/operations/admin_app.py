"""The admin application, with our own site in place of Django's."""

from django.contrib.admin.apps import AdminConfig


class AdministrationConfig(AdminConfig):
    default_site = "config.operations.admin_site.Site"
