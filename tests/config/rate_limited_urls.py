"""All URLs of the project, and one that always returns 429."""

from allauth.core import ratelimit
from django.urls import path

from config.urls import handler400, handler403, handler404, handler429, handler500, urlpatterns

__all__ = ["handler400", "handler403", "handler404", "handler429", "handler500", "urlpatterns"]


urlpatterns = [*urlpatterns, path("hasty", ratelimit.respond_429)]
