"""The control interface: a JSON object of instructions, answered by the state of the simulator."""

from collections.abc import Callable
from datetime import date
from typing import Any

from connectors.checkout.simulator.control.faults import WebhookFault
from connectors.checkout.simulator.control.settings import InvalidSetting
from connectors.checkout.simulator.simulator import Simulator
from connectors.checkout.simulator.tables import EVENT_OF_DISPUTE, EVENTS_OF_ACTION

Instruction = Callable[[Simulator, Any], dict[str, Any]]


def carry_out(simulator: Simulator, order: dict[str, Any]) -> dict[str, Any]:
    """Execute instructions in the order given, and return the state.

    :raises ValueError: an instruction or a value is unknown
    """
    results: dict[str, Any] = {}
    for name, value in order.items():
        if name not in INSTRUCTIONS:
            raise InvalidSetting(f"{name!r} is none of {', '.join(INSTRUCTIONS)}")
        with simulator.lock:
            results |= INSTRUCTIONS[name](simulator, value)
        if name == "deliver":
            results["delivered"] = [one.attempts[-1] for one in simulator.deliver()]
    simulator.tick()
    return results | {
        "now": simulator.clock.now().isoformat(),
        "plan": len(simulator.plan),
        "payments": len(simulator.account.payments),
        "webhooks_waiting": simulator.outbox.waiting,
    }


def _plan(simulator: Simulator, words: list[str]) -> dict[str, Any]:
    simulator.plan.add(*words)
    return {}


def _webhooks(simulator: Simulator, words: list[str]) -> dict[str, Any]:
    simulator.outbox.plan.extend([WebhookFault.read(word) for word in words])
    return {}


def _decide(simulator: Simulator, codes: dict[str, list[str]]) -> dict[str, Any]:
    """Set the response codes of the next actions, by their type."""
    if unknown := codes.keys() - EVENTS_OF_ACTION.keys():
        raise InvalidSetting(f"{unknown} are none of {', '.join(EVENTS_OF_ACTION)}")
    for kind, values in codes.items():
        simulator.account.decisions[kind].extend(map(str, values))
    return {}


def _variants(simulator: Simulator, values: dict[str, Any]) -> dict[str, Any]:
    simulator.account.variants.change(values)
    return {}


def _delays(simulator: Simulator, values: dict[str, Any]) -> dict[str, Any]:
    simulator.account.delays.change(values)
    return {}


def _advance(simulator: Simulator, seconds: float) -> dict[str, Any]:
    simulator.clock.advance(seconds)
    return {}


def _notify(simulator: Simulator, target: dict[str, str]) -> dict[str, Any]:
    return {"workflow": simulator.outbox.notify(target["url"], target["key"]).id}


def _dispute(simulator: Simulator, wish: dict[str, Any]) -> dict[str, Any]:
    """Open a dispute about a payment, which is named by its id or reference."""
    name = wish["payment"]
    found = [
        one for one in simulator.account.payments.values() if name in {one.id, one.reference} and one.captured
    ]
    if not found:
        raise InvalidSetting(f"No captured payment is {name!r}.")
    wishes = {key: wish[key] for key in ("amount", "category") if key in wish}
    return {"dispute": simulator.disputes.open(found[-1], **wishes).id}


def _dispute_outcome(simulator: Simulator, wish: dict[str, str]) -> dict[str, Any]:
    dispute = simulator.account.disputes.get(wish["id"])
    if dispute is None or wish["status"] not in EVENT_OF_DISPUTE:
        raise InvalidSetting(f"{wish} is no dispute and status")
    simulator.disputes.decide(dispute, wish["status"])
    return {}


def _settle(simulator: Simulator, until: Any) -> dict[str, Any]:
    """Pay out the days that are over, or those before a day."""
    end = date.fromisoformat(until) if isinstance(until, str) else None
    return {"payouts": [str(one.amount) for one in simulator.ledger.settle(until=end)]}


def _books(simulator: Simulator, wish: Any) -> dict[str, Any]:
    return {"books": simulator.books()} if wish else {}


INSTRUCTIONS: dict[str, Instruction] = {
    "plan": _plan,
    "webhooks": _webhooks,
    "decide": _decide,
    "variants": _variants,
    "delays": _delays,
    "advance": _advance,
    "notify": _notify,
    "dispute": _dispute,
    "dispute_outcome": _dispute_outcome,
    "settle": _settle,
    "books": _books,
    "deliver": lambda _simulator, _wish: {},
}
