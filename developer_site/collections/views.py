"""The collections of requests. They contain no business's data, so they need no signature."""

import hashlib
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import HttpResponse
from rest_framework import status
from rest_framework.request import Request

from developer_site.collections import bruno, postman
from developer_site.collections.build import collection
from developer_site.openapi.document import document
from developer_site.openapi.views import NoSuchPath
from kit.api.conditional_requests import matches
from kit.api.open_view import OpenView
from merchants.people.access import open_to
from payments.sandbox.scenario_representation import SCENARIO
from payments.sandbox.scenarios import scenarios

FILES = {
    "postman.json": (postman.FILE_NAME, "application/json", postman.postman_file),
    "bruno.zip": ("sluice-bruno.zip", "application/zip", bruno.bruno_archive),
}


class CollectionView(OpenView):
    """A collection as a file, whatever the Accept header asks for."""

    schema = None
    file = ""  # a name of FILES

    def get(self, request: Request) -> HttpResponse:
        name, content_type, _ = FILES[self.file]
        content, etag = _built(self.file, is_sandbox=settings.SANDBOX)
        headers = {"ETag": etag, "Cache-Control": "public, no-cache"}
        if matches(etag, request.headers.get("If-None-Match", "")):
            return HttpResponse(status=status.HTTP_304_NOT_MODIFIED, headers=headers)
        headers["Content-Disposition"] = f'attachment; filename="{name}"'
        return HttpResponse(content, content_type=content_type, headers=headers)

    def perform_content_negotiation(self, request: Request, force: bool = False) -> Any:  # noqa: FBT001, FBT002  (DRF's own signature)
        return super().perform_content_negotiation(request, force=True)


@open_to(None)
class NoSuchCollection(OpenView):
    """Every other path below /api/collections/. It is 404, not 401."""

    schema = None

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        raise NoSuchPath


@lru_cache(maxsize=4)
def _built(file: str, *, is_sandbox: bool) -> tuple[bytes, str]:
    """Return a collection and its ETag. Scenarios can only be played in the sandbox."""
    played = [SCENARIO.represent(each) for each in scenarios()] if is_sandbox else []
    *_, write = FILES[file]
    content = write(collection(document(), played))
    return content, f'"{hashlib.sha256(content).hexdigest()[:32]}"'
