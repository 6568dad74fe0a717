"""Settings of a process that only sends webhooks, without pages, API and Celery, to save memory."""

from config.settings import *  # noqa: F403

INSTALLED_APPS = ["webhooks", "merchants", "django.contrib.auth", "django.contrib.contenttypes"]
