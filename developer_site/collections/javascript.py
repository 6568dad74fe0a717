"""The JavaScript of collections. Postman and Bruno run the same text, behind the names of their own functions."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from textwrap import indent

SCRIPTS = Path(__file__).parent / "scripts"
# Newman sends a request although its script has failed, so the signature is removed as well.
REFUSE_LIVE_KEYS = """\
if ({resolve}("{{{{api_key}}}}").startsWith("pk_live_")) {{
  {unsign};
  throw new Error("Scenarios run in the sandbox only. Set the variable api_key to a sandbox key.");
}}"""


@lru_cache(maxsize=2)
def signing_script(program: str) -> str:
    """Return the script that signs every request of a collection for `postman` or `bruno`.

    It is a block, because its names would clash with those of the program and of other scripts.
    """
    lines = "\n".join((SCRIPTS / f"{name}.js").read_text() for name in (program, "signing"))
    return f"{{\n{indent(lines.rstrip(), '  ')}\n}}"


def refuse_live_keys(*, resolve: str, unsign: str) -> str:
    """Return the script of a folder whose requests must not be sent with a live key."""
    return REFUSE_LIVE_KEYS.format(resolve=resolve, unsign=unsign)


def access(path: str) -> str:
    """Return the JavaScript that reads a dotted path, or nothing where a part is missing.

    >>> access("reference"), access("data.0.event_id")
    ('.reference', '.data?.[0]?.event_id')
    """
    first, *rest = path.split(".")
    return f".{first}" + "".join(f"?.[{name}]" if name.isdigit() else f"?.{name}" for name in rest)
