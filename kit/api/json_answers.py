r"""JSON answers of the API. Each ends with a line feed, so that a terminal shows its prompt on a line of its own.

>>> json_answer({"status": "ok"})
b'{"status": "ok"}\n'
"""

import json
from collections.abc import Mapping
from typing import Any

from rest_framework.renderers import JSONRenderer

LINE_FEED = b"\n"


def json_answer(document: Any) -> bytes:
    """Return the body of an answer that no view renders."""
    return json.dumps(document).encode() + LINE_FEED


class JSONAnswerRenderer(JSONRenderer):
    """The API's only renderer."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        body: bytes = super().render(data, accepted_media_type, renderer_context)
        return body + LINE_FEED if body else body
