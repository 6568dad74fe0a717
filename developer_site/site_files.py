"""Files that browsers, crawlers and security researchers expect at fixed paths."""

from datetime import timedelta
from functools import lru_cache
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from merchants.people.access import public_page

# Only what is public may be fetched. Messengers fetch payment links to show a preview; these pages, and all of payers',
# ask not to be indexed.
ROBOTS = "User-agent: *\n" + "".join(
    f"{rule}\n"
    for rule in (
        "Allow: /$",
        "Allow: /docs/",
        "Allow: /api/docs",
        "Allow: /dashboard/login/$",
        "Allow: /static/",
        "Allow: /l/",
        "Disallow: /",
    )
)
PLAIN_TEXT = "text/plain; charset=utf-8"
ICON_MAX_AGE = 86_400  # seconds
VALID_FOR = timedelta(days=180)  # RFC 9116, section 2.5.5 recommends less than a year


@public_page
@require_safe
def favicon(_request: HttpRequest) -> HttpResponse:
    """Answer browsers that don't use the icon of the page, such as for an image or a JSON document."""
    return HttpResponse(
        _icon(), content_type="image/x-icon", headers={"Cache-Control": f"max-age={ICON_MAX_AGE}, public"}
    )


@lru_cache(maxsize=1)
def _icon() -> bytes:
    return Path(str(finders.find("img/favicon.ico"))).read_bytes()


@public_page
@require_safe
def robots(_request: HttpRequest) -> HttpResponse:
    """Let search engines read the documentation, and nothing of businesses and payers."""
    return HttpResponse(ROBOTS, content_type=PLAIN_TEXT)


@public_page
@require_safe
def security(_request: HttpRequest) -> HttpResponse:
    """Return whom to notify of a vulnerability (RFC 9116). Without SECURITY_CONTACT there is no such file."""
    if not settings.SECURITY_CONTACT:
        raise Http404
    expires = (timezone.now() + VALID_FOR).replace(hour=0, minute=0, second=0, microsecond=0)
    lines = [
        f"Contact: {settings.SECURITY_CONTACT}",
        f"Expires: {expires:%Y-%m-%dT%H:%M:%SZ}",
        "Preferred-Languages: en",
        f"Canonical: {settings.PUBLIC_URL}/.well-known/security.txt",
        f"Policy: {settings.PUBLIC_URL}/docs/security",
    ]
    return HttpResponse("\n".join(lines) + "\n", content_type=PLAIN_TEXT)
