"""Django's administration as an application, with our own site in the place of its."""

from django.contrib.admin.apps import AdminConfig


class AdministrationConfig(AdminConfig):
    default_site = "config.operations.admin_site.Site"
