"""A listener of the sandbox: copies of your events for a machine that has no public address."""

from __future__ import annotations

from collections.abc import Iterable

from sluice import _models as models
from sluice.caller import Caller


class Listener:
    """Polls for copies of your events. `Sluice.sandbox.listener(name)` makes one; `begin` tells the service of it."""

    def __init__(self, caller: Caller, name: str, path: str) -> None:
        self._caller, self.name, self._path = caller, name, path

    def begin(self, events: Iterable[str] | None = None) -> models.Listener:
        """Begin to listen, or continue. The answer has the key that signs the copies."""
        body = {"name": self.name} if events is None else {"name": self.name, "events": list(events)}
        path = self._path.rpartition("/")[0]
        answer = self._caller.call("POST", path, body=body, is_repeatable=True)
        return models.Listener.read(answer.document, answer.meta)

    def poll(self, ack: Iterable[str] = (), wait: int = 10) -> models.ListenerPoll:
        """Return what is new, or what is not acknowledged yet. `ack` has ids of events that were received.

        Waits up to `wait` seconds for an event. Wait `poll_after` seconds before the next call.
        """
        body = {"ack": list(ack), "wait": wait}
        answer = self._caller.call("POST", f"{self._path}/poll", body=body, is_repeatable=True)
        return models.ListenerPoll.read(answer.document, answer.meta)

    def end(self) -> models.EndedListener:
        """End the listener, and delete what it did not acknowledge."""
        answer = self._caller.call("POST", f"{self._path}/end", body={}, is_repeatable=False)
        return models.EndedListener.read(answer.document, answer.meta)
