"""All URLs of the project, and one that always returns 429."""

from allauth.core import ratelimit
from django.urls import path

from config.urls import handler400, handler403, handler404, handler429, handler500, urlpatterns
from merchants.people.access import Limit, Who, open_to

__all__ = ["handler400", "handler403", "handler404", "handler429", "handler500", "urlpatterns"]


def hasty(request):
    return ratelimit.respond_429(request)


urlpatterns = [*urlpatterns, path("hasty", open_to(Who.PUBLIC, limits=(Limit.SIGN_IN,))(hasty))]
