"""Redis as Celery's broker, where no message is worth the process that took it."""

from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    """A channel that puts nothing back when it is closed.

    kombu's own does, for messages that were taken and not begun. Where the connection was lost while it waited for
    the next message, kombu 5.7 looks then for an address that it has already forgotten, and the error ends the whole
    worker. Our messages only say that something is due, which the database says again a second later.
    """

    do_restore = False

    def basic_ack(self, *arguments: Any, **options: Any) -> None:
        """Acknowledge a message, unless the connection was lost: kombu's error for that ends the whole worker."""
        if self.connection is not None:
            super().basic_ack(*arguments, **options)

    def basic_reject(self, *arguments: Any, **options: Any) -> None:
        """Reject a message, unless the connection was lost."""
        if self.connection is not None:
            super().basic_reject(*arguments, **options)


class Transport(redis.Transport):
    """Redis, by that channel."""

    Channel = Channel
