"""`sluice exam`: examine a webhook receiver with genuine events, forgeries and unusual events, in the sandbox."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import groupby
from typing import Any
from urllib.parse import SplitResult

from sluice._models import Exam, ExamDelivery, ExamResult
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.connection import connect_to_sandbox
from sluice.cli.forwarding import SECONDS, WHICH_KEY, Answer, forward, hang_up, receiver
from sluice.cli.listen import default_name
from sluice.cli.output import show, table
from sluice.cli.streams import say
from sluice.client import Sluice
from sluice.webhooks import KINDS

EXAM_SECONDS = 110.0  # the service waits for 120
MOST_TIMEOUTS = 3
POLL_SECONDS = 0.5
PIECES, PAUSE = 3, 1.0  # of a body that is sent in pieces: how many, and seconds between two
ERRORS = {
    "no answer": "timeout",
    "invalid certificate": "tls_certificate",
    "unknown host": "dns_error",
    "connection refused": "connection_refused",
    "connection reset by peer": "connection_reset",
    "closed without an answer": "disconnected",
    "no HTTP answer": "bad_answer",
}
PAGE = "/dashboard/webhooks/exam/"
ACTED = ("0", "1", "more")


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "exam",
        help="Examine your webhook receiver in the sandbox. Ends with 1 if a probe failed.",
        example="sluice exam --forward-to http://127.0.0.1:3000/webhooks",
        run=run,
    )
    parser.add_argument(
        "--forward-to",
        metavar="URL",
        help="send the requests from here (default: the service to your endpoint)",
    )
    parser.add_argument(
        "--endpoint",
        metavar="ID",
        help="without --forward-to: the endpoint to examine (default: the first one)",
    )
    parser.add_argument(
        "--name", help="with --forward-to: the listener whose key signs (default: user and machine)"
    )
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    if options.name and not options.forward_to:
        raise WrongUsage("--name needs --forward-to.")
    if options.endpoint and options.forward_to:
        raise WrongUsage("--endpoint and --forward-to exclude each other.")
    to = receiver(options.forward_to) if options.forward_to else None
    with connect_to_sandbox(options) as client:
        say("The payments in these events don't exist. Their references begin with exam-.")
        exam = (
            _by_service(client, options.endpoint)
            if to is None
            else _from_here(client, to, options.name or default_name())
        )
        rows = list(rows_of(exam.results))
        show(exam, options, lines=lambda: [*table(rows, empty=""), f"The exam {exam.state}."])
        if to is not None and not any(each.result == "passed" for each in exam.results):
            say(f"Nothing passed: {WHICH_KEY}.")
        if _has_run(exam, "duplicate"):
            _ask(client, exam, options)
    return 0 if exam.state == "passed" else 1


def rows_of(results: Iterable[ExamResult]) -> Iterator[tuple[str, str, str]]:
    """Yield a row for each probe that was run, then one for all that were not run for the same reason."""
    skipped: dict[str, list[str]] = {}
    for each in results:
        if each.result == "not_run":
            skipped.setdefault(each.cause, []).append(each.probe)
        else:
            yield each.result, each.probe, each.cause
    for cause, probes in skipped.items():
        yield "not_run", probes[0] if len(probes) == 1 else f"{len(probes)} probes", cause


def _by_service(client: Sluice, endpoint_id: str | None) -> Exam:
    exam = client.sandbox.exam(endpoint_id=endpoint_id)
    while exam.state == "running":
        time.sleep(POLL_SECONDS)
        exam = client.sandbox.get_exam(exam.id)
    return exam


def _from_here(client: Sluice, to: SplitResult, name: str) -> Exam:
    begun = client.sandbox.listener(name).begin()
    say(f"Signing key: {begun.hash_key}")
    exam = client.sandbox.exam(target="client", listener=name)
    return client.sandbox.report_exam(exam.id, answers=_send_all(to, exam.requests or []))


def _send_all(to: SplitResult, requests: Sequence[ExamDelivery]) -> list[dict[str, Any]]:
    """Send the requests step by step, and return the answers as they are reported."""
    found: list[tuple[ExamDelivery, Answer]] = []
    ends_at = time.monotonic() + EXAM_SECONDS
    for _, step in groupby(requests, key=lambda request: request.step):
        together = list(step)
        timeouts = sum(ERRORS.get(answer.error) == "timeout" for _, answer in found)
        if timeouts >= MOST_TIMEOUTS or time.monotonic() >= ends_at:
            break
        if not _is_needless(together[0], found):
            with ThreadPoolExecutor(len(together)) as threads:
                answers = threads.map(lambda request: _send(to, request), together)
                found += zip(together, answers)  # noqa: B905  (as long)
    return [_reported(request, answer) for request, answer in found]


def _is_needless(request: ExamDelivery, found: Iterable[tuple[ExamDelivery, Answer]]) -> bool:
    return any(
        not answer.is_success
        for sent, answer in found
        if sent.probe in request.needs and sent.manner != "hang_up"
    )


def _send(to: SplitResult, request: ExamDelivery) -> Answer:
    body, headers = request.body.encode(), {"Accept": "*/*", **request.headers}
    if request.manner == "hang_up":
        answer = hang_up(to, body, headers)
        time.sleep(PAUSE)
        return answer
    if request.manner == "whole":
        return forward(to, body, headers)
    pauses = (PIECES - 1) * PAUSE
    sized = {**headers, "Content-Length": str(len(body))}
    answer = forward(to, _in_pieces(body), sized, seconds=SECONDS + pauses)
    return Answer(answer.status, answer.error, max(answer.milliseconds - round(pauses * 1000), 0))


def _in_pieces(body: bytes) -> Iterator[bytes]:
    size = -(-len(body) // PIECES)
    for start in range(0, len(body), size):
        time.sleep(PAUSE if start else 0)
        yield body[start : start + size]


def _reported(request: ExamDelivery, answer: Answer) -> dict[str, Any]:
    report: dict[str, Any] = {"request": request.number, "ms": answer.milliseconds}
    if answer.status is not None:
        return {**report, "status": answer.status}
    error = "hung_up" if request.manner == "hang_up" and not answer.error else answer.error
    return {**report, "error": ERRORS.get(error, error if error == "hung_up" else "network_error")}


def _has_run(exam: Exam, probe: str) -> bool:
    return any(each.probe == probe and each.result != "not_run" for each in exam.results)


def _ask(client: Sluice, exam: Exam, options: argparse.Namespace) -> None:
    """Ask at a terminal what the exam can't see. Any other answer than the three leaves it open."""
    later = f"the exam's page of the dashboard: {client.base_url}{PAGE}?id={exam.id}"
    if options.json or not sys.stdin.isatty():
        say(f"{exam.question} Answer on {later}")
        return
    say(f"Your answer doesn't change the result. You can also give it later, on {later}")
    question = f"{exam.question} {', '.join(ACTED[:-1])} or {ACTED[-1]} (Enter: later) "
    print(question, end="", file=sys.stderr, flush=True)
    acted = sys.stdin.readline().strip()
    if acted in ACTED:
        client.sandbox.report_exam(exam.id, acted=acted)
        say("Answer saved.")
        if acted == "0":
            say(f"Does it wait for the right event? The names are {', '.join(KINDS)}.")
    elif acted:
        say(f"{acted} is not {', '.join(ACTED[:-1])} or {ACTED[-1]}: nothing was saved.")
