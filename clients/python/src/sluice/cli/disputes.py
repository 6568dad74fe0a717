"""`sluice disputes`: find what cardholders' banks take back, and answer."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from sluice._models import Dispute
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, minor_units, read_bytes
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import fields, money, show, table

EXAMPLE = "sluice disputes list --status needs_response"
ID = "0192f4c1-7d3e-7a10-8f25-0d8a6c1b2e34"


def add_to(commands: Subparsers) -> None:
    group = add_command(
        commands, "disputes", help="Find disputes of card payments, and answer.", example=EXAMPLE
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    listed = add_command(actions, "list", help="List the newest.", example=EXAMPLE, run=_list)
    listed.add_argument("--status", help="such as needs_response, under_review, won or lost")
    listed.add_argument("--due-before", metavar="TIME", help="open ones with a deadline up to then")
    listed.add_argument("--payment", metavar="REF", help="those of a payment, by your reference")
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    found = add_command(
        actions, "get", help="Show one, with its evidence.", example=f"sluice disputes get {ID}", run=_get
    )
    added = add_command(
        actions,
        "evidence",
        help="Add a text to your answer. Nothing is sent until you submit it.",
        example=f'sluice disputes evidence {ID} --kind delivery --text "Signed for by Ada Obi"',
        run=_add_evidence,
    )
    added.add_argument("--kind", required=True, help="what it shows, such as receipt, delivery or service")
    text = added.add_mutually_exclusive_group(required=True)
    text.add_argument("--text", help="the text, up to 3,000 characters")
    text.add_argument("--file", metavar="FILE", help="a file with the text; - reads standard input")
    submitted = add_command(
        actions,
        "submit",
        help="Submit your answer. You answer once.",
        example=f"sluice disputes submit {ID}",
        run=_submit,
    )
    submitted.add_argument(
        "--leave-out",
        metavar="PART",
        action="append",
        help="a part of what we know about the payment that isn't sent; may be repeated",
    )
    accepted = add_command(
        actions,
        "accept",
        help="Concede all of it, or a part. That is final.",
        example=f"sluice disputes accept {ID} --amount 20000",
        run=_accept,
    )
    accepted.add_argument("--amount", type=minor_units, help="in minor units (default: all of it)")
    for parser in (found, added, submitted, accepted):
        parser.add_argument("dispute", metavar="ID", help="its ID, as sluice disputes list shows it")
    for parser in (listed, found, added, submitted, accepted):
        add_caller(parser)


def _list(options: argparse.Namespace) -> int:
    wanted = {"status": options.status, "due_before": options.due_before, "payment": options.payment}
    filters = {name: value for name, value in wanted.items() if value is not None}
    with connect(options) as client:
        found = client.disputes.list(limit=options.limit, **filters).data
    rows = [
        (each.respond_by or "", each.status, each.stage, money(each.amount, each.currency), each.payment_reference, each.id)
        for each in found
    ]  # fmt: skip
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        return _show(client.disputes.get(options.dispute), options)


def _add_evidence(options: argparse.Namespace) -> int:
    text = options.text if options.file is None else _read_text(options.file)
    with connect_to_change(options, f"Add evidence to dispute {options.dispute}") as client:
        item = client.disputes.add_evidence(options.dispute, kind=options.kind, text=text)
    show(item, options, lines=lambda: fields({"added": item.kind, "id": item.id}))
    return 0


def _read_text(source: str) -> str:
    """Return the text in a file.

    :raises WrongUsage: it can't be read, or is no text
    """
    try:
        return read_bytes(source).decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        raise WrongUsage("The file is not text in UTF-8.") from None


def _submit(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Submit the answer to dispute {options.dispute}") as client:
        return _show(client.disputes.submit(options.dispute, leave_out=options.leave_out), options)


def _accept(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Accept dispute {options.dispute}") as client:
        return _show(client.disputes.accept(options.dispute, amount=options.amount), options)


def _show(dispute: Dispute, options: argparse.Namespace) -> int:
    show(dispute, options, lines=lambda: _lines(dispute))
    return 0


def _lines(dispute: Dispute) -> Iterator[str]:
    outcome = dispute.outcome_amount
    yield from fields(
        {
            "dispute": f"{dispute.case_number}, {dispute.stage}",
            "status": dispute.status,
            "reason": dispute.reason,
            "amount": money(dispute.amount, dispute.currency),
            "comes back": "" if outcome is None else money(outcome, dispute.currency),
            "payment": dispute.payment_reference,
            "respond by": dispute.respond_by or "",
            "evidence": ", ".join(each.kind for each in dispute.evidence or []),
            "id": dispute.id,
        }
    )
