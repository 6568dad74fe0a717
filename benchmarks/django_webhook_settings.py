"""Our settings with django-webhook added, for yardstick (b)."""

from config.settings import *  # noqa: F403
from config.settings import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "django_webhook"]
DJANGO_WEBHOOK = {"MODELS": ["merchants.Business"]}
