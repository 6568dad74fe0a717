"""Shared parts of the commands that run a simulator."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from kit.terminal.terminal import TerminalCommand
from merchants.commands import until_interrupted
from payments.simulators.http_server import SimulatorServer


class SimulatorCommand(TerminalCommand):
    """A command that runs a simulator on localhost until it is interrupted. In production, it refuses."""

    requires_system_checks = ()

    def execute(self, *args: Any, **options: Any) -> str | None:
        if not settings.SANDBOX:
            raise CommandError("Simulators don't run in production (ENVIRONMENT).", returncode=2)
        return super().execute(*args, **options)

    def serve(self, make: Callable[[], SimulatorServer], says: str) -> None:
        """Make a server and serve. `says` begins the sentence with its address, such as `The bank listens on`.

        :raises CommandError: the port cannot be used
        """
        with port_errors():
            server = make()
        self.announce(f"{says} {server.url}.")
        with until_interrupted():
            server.serve_forever()

    def announce(self, sentence: str) -> None:
        self.stdout.write(f"{sentence} Press Ctrl-C to stop it.")
        self.stdout.flush()


@contextmanager
def port_errors() -> Iterator[None]:
    """Report that a port cannot be used as a command does."""
    try:
        yield
    except OSError as problem:
        raise CommandError(f"The port cannot be used: {problem.strerror}.") from None
