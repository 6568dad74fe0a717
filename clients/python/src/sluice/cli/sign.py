"""`sluice sign`: sign a request without sending it."""

import argparse
import json
import shlex
import sys

from sluice import credentials, signing
from sluice.cli.arguments import Subparsers, add_caller, add_command, read_bytes


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
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    if not options.target.startswith("/"):
        print("TARGET is a path, such as /api/banks.", file=sys.stderr)
        return 2
    keys = credentials.find(options.profile)
    body = read_bytes(options.body)
    headers = signing.headers(
        api_key=keys.api_key,
        secret_key=keys.secret_key,
        method=options.method,
        target=options.target,
        body=body,
    )
    if options.json:
        text = signing.string_to_sign(
            timestamp=headers["X-Timestamp"],
            nonce=headers["X-Nonce"],
            method=options.method,
            target=options.target,
            body=body,
        )
        print(json.dumps({"headers": headers, "string_to_sign": text}, indent=2))
    elif options.curl:
        print(_curl(options, headers, address=options.base_url or keys.base_url, body=body))
    else:
        print("\n".join(f"{name}: {value}" for name, value in headers.items()))
    return 0


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
            "--data-binary",
            body.decode(errors="surrogateescape"),
        ]
    elif options.body:
        words += ["--header", "Content-Type: application/json", "--data-binary", f"@{options.body}"]
    return shlex.join([*words, address.rstrip("/") + options.target])
