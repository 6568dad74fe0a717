"""`sluice sign`: sign a request without sending it."""

import argparse
import json
import os
import re
import shlex
import sys

from sluice import signing
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, read_bytes
from sluice.cli.callers import caller_of

NONCE = re.compile("[A-Za-z0-9_-]{16,128}")


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "sign",
        help="Sign a request, and print its headers or a curl command. Valid for five minutes and one use.",
        example="sluice sign POST /api/payments --body order.json --curl",
        run=run,
    )
    parser.add_argument("method", metavar="METHOD", help="GET, POST or PATCH")
    parser.add_argument("target", metavar="TARGET", help="path and query, such as '/api/payments?limit=5'")
    parser.add_argument("--body", metavar="FILE", help="the body's file; - reads standard input")
    shown = parser.add_mutually_exclusive_group()
    shown.add_argument("--headers", action="store_true", help="print the headers (default)")
    shown.add_argument("--curl", action="store_true", help="print a curl command")
    parser.add_argument("--timestamp", type=int, help="Unix seconds (default: now)")
    parser.add_argument("--nonce", help="16 to 128 characters of A-Z a-z 0-9 - _ (default: random)")
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    if not options.target.startswith("/"):
        raise WrongUsage("TARGET is a path, such as /api/banks.")
    if options.nonce is not None and not NONCE.fullmatch(options.nonce):
        raise WrongUsage("--nonce needs 16 to 128 characters of A-Z a-z 0-9 - _.")
    keys = caller_of(options)
    target = signing.encoded(options.target)
    if target != options.target:
        print(f"Signed, and to be sent, as {target}", file=sys.stderr)
    body = _body(options.body)
    headers = signing.headers(
        api_key=keys.api_key,
        secret_key=keys.secret_key,
        method=options.method,
        target=target,
        body=body,
        timestamp=options.timestamp,
        nonce=options.nonce,
    )
    if options.json:
        text = signing.string_to_sign(
            timestamp=headers["X-Timestamp"],
            nonce=headers["X-Nonce"],
            method=options.method,
            target=target,
            body=body,
        )
        print(json.dumps({"headers": headers, "string_to_sign": text}, indent=2))
    elif options.curl:
        command = _curl(options, headers, address=keys.base_url.rstrip("/") + target, body=body)
        sys.stdout.buffer.write(os.fsencode(command + "\n"))
    else:
        print("\n".join(f"{name}: {value}" for name, value in headers.items()))
    return 0


def _body(source: str | None) -> bytes:
    """Return the body.

    :raises WrongUsage: its file can't be read
    """
    if source and source.lstrip().startswith(("{", "[")):
        raise WrongUsage(
            "--body takes a file. To pass the text itself, write --body - and send it by a pipe."
        )
    return read_bytes(source)


def _curl(options: argparse.Namespace, headers: dict[str, str], *, address: str, body: bytes) -> str:
    """Return a command for a POSIX shell. It reads a body from its file, so that no shell changes a byte of it."""
    words = [
        "curl",
        "--silent",
        "--show-error",
        "--globoff",
        "--path-as-is",
        "--request",
        options.method.upper(),
    ]
    for name, value in headers.items():
        words += ["--header", f"{name}: {value}"]
    if options.body == "-":
        words += [
            "--header",
            "Content-Type: application/json",
            "--data-raw",
            os.fsdecode(body),
        ]
    elif options.body:
        words += ["--header", "Content-Type: application/json", "--data-binary", f"@{options.body}"]
    return shlex.join([*words, address])
