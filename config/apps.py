"""The project as an application: its commands, its Celery application and its start-up checks."""

from django.apps import AppConfig
from django.core.signals import request_started


class ConfigConfig(AppConfig):
    name = "config"

    def ready(self) -> None:
        from config import celery, checks, patience  # noqa: F401, PLC0415  (registering checks needs the app registry)

        request_started.connect(patience.settle)
