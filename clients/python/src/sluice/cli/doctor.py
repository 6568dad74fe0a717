"""`sluice doctor`: find out why calls to the service fail."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from sluice.cli import doctor_checks as checks
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.callers import caller_of
from sluice.cli.connection import client_of
from sluice.cli.doctor_checks import WRONG, Finding
from sluice.cli.output import show
from sluice.credentials import NoCredentials
from sluice.transport import HttpTransport

READ_TIMEOUT = 15.0  # seconds


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "doctor",
        help="Check keys, network, TLS, clock and environment. Ends with 1 if something is wrong.",
        example="sluice doctor --profile shop",
        run=run,
    )
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    found = list(_findings(options))
    is_well = all(finding.result != WRONG for finding in found)
    document = {"ok": is_well, "checks": [finding.document() for finding in found]}
    show(document, options, lines=lambda: _lines(found))
    return 0 if is_well else 1


def _findings(options: argparse.Namespace) -> Iterator[Finding]:
    """Yield the findings. What a wrong one makes impossible is not checked."""
    yield from checks.environment()
    try:
        keys = caller_of(options)
        client = client_of(keys, retries=0, connect_timeout=checks.TIMEOUT, read_timeout=READ_TIMEOUT)
    except (NoCredentials, WrongUsage) as problem:
        yield Finding("keys", WRONG, str(problem), "Run `sluice login`, or set the variables.")
        return
    yield Finding("keys", checks.OK, f"{keys.api_key} for {keys.base_url}, of {keys.source}")
    transport = HttpTransport(keys.base_url, connect_timeout=checks.TIMEOUT, read_timeout=READ_TIMEOUT)
    with client:
        for check in (checks.network(keys.base_url), checks.service(transport), checks.keys(client)):
            last = None
            for last in check:
                yield last
            if last is not None and last.result == WRONG and last.check != "clock":
                return


def _lines(found: list[Finding]) -> Iterator[str]:
    for finding in found:
        first, *more = finding.detail.splitlines()
        yield f"{finding.result:8} {finding.check:10} {first}"
        for text in (*more, finding.advice):
            if text:
                yield f"{'':20}{text}"
