"""The simulated acquirer: an ISO 8583 server that injects faults on command."""

import asyncio
import json
import random
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from payments.rails.iso8583.messages import ECHO, SIGN_ON, Message, answer_to, network_request
from payments.rails.iso8583.wire import LENGTH_BYTES, InvalidFrame, frame, unpack
from payments.simulators.acquirer_ledger import AcquirerLedger, loses_answer
from payments.simulators.fault_injection import ANSWER, Fault, FaultKind, UnknownFault

APPROVED, REFUSED = "00", "05"
NOISE = b"\x00\x20" + b"\xff" * 32


class AcquirerSimulator:
    """Serves ISO 8583 on one port and accepts commands on another. Everything except the books runs on one event loop."""

    def __init__(self, *, port: int = 0, control_port: int = 0) -> None:
        self.books = AcquirerLedger()
        self.plan: deque[Fault] = deque()  # faults of the next messages, one each
        self.refuses_sign_on = False
        self.is_deaf = False  # doesn't answer echoes
        self.is_down = False  # closes every connection at once, but keeps the books
        self.jitter = 0.0  # maximum random delay of answers in seconds, so that they arrive out of order
        self.port, self.control_port = port, control_port
        self.received: list[str] = []  # types of the received messages
        self.echoes_answered = 0  # answers to our own echoes
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def serve(self, *, when_ready: Callable[[], None] = lambda: None) -> None:
        """Serve until cancelled."""
        server = await asyncio.start_server(self._connected, "127.0.0.1", self.port)
        control = await asyncio.start_server(self._ordered, "127.0.0.1", self.control_port)
        self.port = server.sockets[0].getsockname()[1]
        self.control_port = control.sockets[0].getsockname()[1]
        when_ready()
        try:
            await asyncio.Event().wait()
        finally:
            server.close()
            control.close()
            self.disconnect()
            for task in self._tasks:
                task.cancel()

    def disconnect(self) -> None:
        """Close every connection."""
        for writer in list(self._writers):
            writer.close()

    def send_echo(self) -> None:
        """Send an echo to every client."""
        for number, writer in enumerate(self._writers, start=1):
            writer.write(frame(network_request(ECHO, stan=f"{number:06}", now=datetime.now(UTC))))

    def carry_out(self, order: dict[str, Any]) -> dict[str, Any]:
        """Execute a command from the control port, and return its result."""
        for name, value in order.items():
            if name == "plan":
                self.plan.extend(Fault.read(word) for word in value)
            elif name in {"refuses_sign_on", "is_deaf", "is_down", "jitter"}:
                setattr(self, name, value)
                if self.is_down:
                    self.disconnect()
            elif name == "hang_up":
                self.disconnect()
            elif name == "send_echo":
                self.send_echo()
            elif name not in {"books", "statement"}:
                raise UnknownFault(f"unknown command {name!r}")
        statement = {"statement": "\n".join(self.books.statement())} if order.get("statement") else {}
        return statement | {
            "books": self.books.positions(),
            "plan": len(self.plan),
            "received": len(self.received),
        }

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while not self.is_down:
                length = int.from_bytes(await reader.readexactly(LENGTH_BYTES))
                self._receive(unpack(await reader.readexactly(length)), writer)
        except (EOFError, OSError, InvalidFrame):
            pass  # disconnected, or not a valid message
        finally:
            self._writers.discard(writer)
            writer.close()

    def _receive(self, message: Message, writer: asyncio.StreamWriter) -> None:
        self.received.append(message.type)
        if message.type == "0810":
            self.echoes_answered += 1
        elif message.type == "0800":
            self._answer_network(message, writer)
        else:
            fault = self.plan.popleft() if self.plan else ANSWER
            task = asyncio.get_running_loop().create_task(self._handle(message, fault, writer))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def _answer_network(self, message: Message, writer: asyncio.StreamWriter) -> None:
        purpose = message.fields.get(70)
        if purpose == ECHO and self.is_deaf:
            return
        code = REFUSED if purpose == SIGN_ON and self.refuses_sign_on else APPROVED
        writer.write(frame(answer_to(message, code)))

    async def _handle(self, message: Message, fault: Fault, writer: asyncio.StreamWriter) -> None:
        kind = fault.kind
        if kind is FaultKind.ARRIVE_LATE:
            await asyncio.sleep(fault.seconds)
        is_lost = kind in {FaultKind.LOSE, FaultKind.LOSE_AND_CUT}
        answer = b"" if is_lost else frame(self.books.answer(message))
        if kind is FaultKind.DELAY:
            await asyncio.sleep(fault.seconds)
        elif self.jitter:
            await asyncio.sleep(random.uniform(0, self.jitter))  # noqa: S311  (not a secret)
        if kind is FaultKind.SWALLOW or (kind is FaultKind.ANSWER and loses_answer(message)):
            return
        writer.write(_as_sent(answer, kind))
        if kind in {FaultKind.CUT, FaultKind.LOSE_AND_CUT, FaultKind.HALF}:
            writer.close()

    async def _ordered(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Accept commands: one JSON object per line, answered by one line."""
        while line := await reader.readline():
            try:
                said = self.carry_out(json.loads(line))
            except (ValueError, TypeError, AttributeError) as problem:
                said = {"error": str(problem)}
            writer.write(json.dumps(said).encode() + b"\n")
        writer.close()


def _as_sent(answer: bytes, kind: FaultKind) -> bytes:
    match kind:
        case FaultKind.TWICE:
            return answer * 2
        case FaultKind.HALF:
            return answer[: len(answer) // 2]
        case FaultKind.GARBAGE:
            return NOISE
        case FaultKind.CUT:
            return b""
        case _:
            return answer
