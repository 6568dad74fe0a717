"""Settings, the HTTP surface and the processes. Imports every app; no app imports it."""

from config.celery import app as celery_app

__all__ = ["celery_app"]
