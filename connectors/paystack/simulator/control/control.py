"""Commands for tests and for people at a terminal: what payers, banks and Paystack's staff do.

Each command is a member of one JSON object: {"receive": {"account_number": "9930000001", "amount": 50000}}.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from connectors.paystack.simulator.accounts import bank_transfers
from connectors.paystack.simulator.answers import Document
from connectors.paystack.simulator.control import timelines, variants
from connectors.paystack.simulator.integration import SCRIPTS, Integration
from connectors.paystack.simulator.money import settlements, transfers
from connectors.paystack.simulator.payments import cards, disputes, refunds, transactions

if TYPE_CHECKING:
    from connectors.paystack.simulator.simulator import Simulator

STATUSES = {
    "transfer": frozenset(transfers.STATUSES),
    "refund": frozenset(refunds.STATUSES),
    "identification": frozenset({"pending", "success", "failed"}),
    "assignment": frozenset({"pending", "success", "failed"}),
}


class UnknownCommand(ValueError):
    """There is no such command, script or switch."""


def carry_out(simulator: Simulator, order: Document) -> Document:
    """Carry out commands in their order, and return their results and the present state.

    :raises ValueError: a command is unknown, or not possible
    """
    results: Document = {name: _command(name)(simulator, value) for name, value in order.items()}
    simulator.run_due()
    outbox = simulator.integration.outbox
    return {
        "results": results,
        "books": settlements.books(simulator.integration),
        "plan": len(simulator.plan),
        "events": [{"event": each.name, "statuses": each.statuses} for each in outbox.events[-20:]],
        "time": simulator.integration.now().isoformat(),
    }


def _command(name: str) -> Callable[[Simulator, Any], Any]:
    if name not in COMMANDS:
        raise UnknownCommand(f"{name!r} is not one of {', '.join(COMMANDS)}")
    return COMMANDS[name]


def _script(simulator: Simulator, scripts: dict[str, list[str]]) -> None:
    for kind, texts in scripts.items():
        simulator.integration.scripts[kind].extend([_checked(kind, text) for text in texts])


def _default(simulator: Simulator, scripts: dict[str, str]) -> None:
    for kind, text in scripts.items():
        simulator.integration.defaults[kind] = _checked(kind, text)


def _checked(kind: str, text: str) -> str:
    if kind not in SCRIPTS:
        raise UnknownCommand(f"{kind!r} is not one of {', '.join(sorted(SCRIPTS))}")
    if kind == "card":
        cards.read_script(text)
    else:
        timelines.read(text, statuses=STATUSES[kind])
    return text


def _switch(simulator: Simulator, switches: dict[str, bool]) -> None:
    for name, value in switches.items():
        if name not in variants.SWITCHES:
            raise UnknownCommand(f"{name!r} is not one of {', '.join(variants.SWITCHES)}")
        simulator.integration.switches[name] = bool(value)


def _variant(simulator: Simulator, choices: dict[str, str]) -> None:
    simulator.integration.variants = variants.chosen(simulator.integration.variants | choices)


def _top_up(simulator: Simulator, amount: int) -> None:
    simulator.integration.books.move(amount, model="TopUp", row=0, reason="Top-up")


def _forge(simulator: Simulator, order: Document) -> None:
    """Queue an event about a success that may never have happened."""
    outbox, name = simulator.integration.outbox, order.get("event", "charge.success")
    outbox.forge(
        name,
        order.get("data") or _untrue(simulator.integration, order),
        signature=order.get("signature", "wrong"),
    )


def _untrue(integration: Integration, order: Document) -> Document:
    found = integration.tables.transactions.get(order.get("reference", ""))
    data = (
        transactions.document(integration, found, "event") if found else {"reference": order.get("reference")}
    )
    changes: Document = order.get("changes", {})
    return data | {"status": "success"} | changes


COMMANDS: dict[str, Callable[[Simulator, Any], Any]] = {
    "advance": lambda simulator, seconds: simulator.advance(seconds),
    "books": lambda _simulator, _value: None,  # every answer has them
    "decide": lambda simulator, order: disputes.decide(
        simulator.integration, order["id"], order["resolution"]
    ),
    "default": _default,
    "deliver": lambda simulator, _: [event.name for event in simulator.deliver()],
    "dispute": lambda simulator, order: disputes.open_dispute(simulator.integration, **order),
    "forge": _forge,
    "names": lambda simulator, names: simulator.integration.names.update(names),
    "plan": lambda simulator, words: simulator.plan.extend(words),
    "receive": lambda simulator, order: bank_transfers.receive(simulator.integration, **order),
    "refund": lambda simulator, order: refunds.change_by_id(
        simulator.integration, order["id"], order["status"]
    ),
    "replay": lambda simulator, _: simulator.integration.outbox.replay(),
    "script": _script,
    "settle": lambda simulator, _: settlements.settle(simulator.integration),
    "switch": _switch,
    "top_up": _top_up,
    "transfer": lambda simulator, order: transfers.change_by_reference(
        simulator.integration, order["reference"], order["status"]
    ),
    "variant": _variant,
    "webhooks": lambda simulator, words: simulator.integration.outbox.extend_plan(words),
}
