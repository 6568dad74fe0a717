"""Requests in guides, shown in all languages: as HTTP, as the file has them, and as curl, Python and Node.

>>> [label for label, _ in samples("GET /api/banks")]
['HTTP', 'curl', 'Python', 'Node']
>>> samples("HTTP/1.1 200 OK")
[]
"""

import re
from typing import NamedTuple

from django.conf import settings

from kit.files import bounded_json
from payments.rules.code_samples import SampleCall, sample

REQUEST = re.compile(r"(GET|POST|PATCH) (/api/\S*)(?:\n\n(\{.*\}))?\s*", re.DOTALL)
LANGUAGES = {"curl": "curl", "python": "Python", "node": "Node"}


class Sample(NamedTuple):
    label: str
    code: str


def call_of(block: str) -> SampleCall | None:
    """Return the call that a block of HTTP shows, or None if it shows something else."""
    found = REQUEST.fullmatch(block)
    if found is None:
        return None
    method, target, body = found.groups()
    return SampleCall(method, target, bounded_json.loads(body) if body else None)


def samples(block: str) -> list[Sample]:
    """Return a block of HTTP in all languages, or nothing if it isn't a request to the API."""
    call = call_of(block)
    if call is None:
        return []
    codes = {label: sample(call, name, is_sandbox=settings.SANDBOX) for name, label in LANGUAGES.items()}
    return [Sample("HTTP", block), *(Sample(label, code + "\n") for label, code in codes.items())]
