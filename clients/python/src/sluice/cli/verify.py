"""`sluice verify`: check the signature of a webhook, and name the mistake if it is a usual one."""

import argparse
import difflib
import json
import os
import sys
from collections.abc import Iterator

from sluice import webhooks
from sluice.cli.arguments import Subparsers, add_command
from sluice.cli.streams import say

VARIABLE = "WEBHOOK_HASH_KEY"


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "verify",
        help=f"Check a webhook's signature. The body comes from standard input, the signing key from {VARIABLE}.",
        example="sluice verify 305d4c61… < body.json",
        run=run,
    )
    parser.add_argument("signature", metavar="SIGNATURE", help="the header X-Service-Signature")
    for option in ("--profile", "--base-url"):
        parser.add_argument(option, help=f"accepted as everywhere; only {VARIABLE} is used")


def run(options: argparse.Namespace) -> int:
    key = os.environ.get(VARIABLE, "")
    if not key:
        print(f"Set {VARIABLE} to the signing key of your endpoint (whk_…).", file=sys.stderr)
        return 2
    body = sys.stdin.buffer.read()
    is_right = webhooks.is_signature(body, options.signature, key)
    causes = [] if is_right else list(_mistakes(body, options.signature, key))
    if options.json:
        print(json.dumps({"valid": is_right, "causes": causes}))
    elif is_right:
        print("The signature is right.")
    else:
        print("The signature is not of this body with this key.")
        print(
            "\n".join(
                causes or ["None of the usual mistakes fits: is it the key of this endpoint, and of today?"]
            )
        )
    _warn_of_name(body)
    return 0 if is_right else 1


def _warn_of_name(body: bytes) -> None:
    """Say that the body names an event that is never sent, such as one that a test of a receiver made up."""
    try:
        name = str(json.loads(body)["event"])
    except (ValueError, KeyError, TypeError):
        return
    if name not in webhooks.KINDS:
        near = difflib.get_close_matches(name, webhooks.KINDS, n=1)
        question = f" Did you mean {near[0]}?" if near else ""
        say(f"There is no event {name}.{question} The names are {', '.join(webhooks.KINDS)}.")


def _mistakes(body: bytes, signature: str, key: str) -> Iterator[str]:
    """Yield the mistakes with which this signature would be right."""
    without_blanks = signature.strip()
    if without_blanks != without_blanks.lower() and _fits(body, without_blanks.lower(), key):
        yield "It is right in lower case: compare lower-case hex, or ignore case."
    if without_blanks != signature and _fits(body, without_blanks.lower(), key):
        yield "There are blanks around it."
    if body.endswith(b"\n") and _fits(body.rstrip(b"\r\n"), signature, key):
        yield "The body has a line feed at its end that was not sent. Save it without one, such as with printf."
    if any(_fits(changed, signature, key) for changed in _rewritten(body)):
        yield "The body was parsed and written again, in other white space or escapes. Verify the raw bytes."
    if len(without_blanks) != 64:  # noqa: PLR2004  (hex digits of a SHA-256)
        yield f"It has {len(without_blanks)} characters. A signature has 64 hex digits."
    if key != key.strip():
        yield f"{VARIABLE} has blanks around it."


def _fits(body: bytes, signature: str, key: str) -> bool:
    return webhooks.is_signature(body, signature, key)


def _rewritten(body: bytes) -> Iterator[bytes]:
    """Yield the document as the service writes it: without blanks, and with escapes for what is not ASCII."""
    try:
        document = json.loads(body)
    except ValueError:
        return
    yield json.dumps(document, separators=(",", ":")).encode()
