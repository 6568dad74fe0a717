"""The project as a Django app, with its commands, Celery application and system checks."""

from django.apps import AppConfig
from django.core.signals import request_started


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        # Registering checks needs the app registry.
        from config import celery  # noqa: F401, PLC0415
        from config.checks import startup  # noqa: F401, PLC0415
        from config.database import lock_timeout  # noqa: PLC0415

        request_started.connect(lock_timeout.settle)
