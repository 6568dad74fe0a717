"""The settings of a process that sends webhooks and does nothing else: no pages, no API, no Celery.

What a process does not import it need not hold in memory.
"""

from config.settings import *  # noqa: F403

INSTALLED_APPS = ["webhooks", "merchants", "django.contrib.auth", "django.contrib.contenttypes"]
