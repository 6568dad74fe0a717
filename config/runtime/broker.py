"""Redis as Celery's broker, with connection errors that don't end the worker."""

from typing import Any

from kombu.transport import redis


class Channel(redis.Channel):
    """A channel that doesn't restore unprocessed messages when it is closed.

    If the connection was lost while waiting for a message, kombu 5.7 fails to restore messages, and the error ends the
    whole worker. Our messages are only wake-up signals; polling finds the work a second later.
    """

    do_restore = False

    def basic_ack(self, *arguments: Any, **options: Any) -> None:
        """Acknowledge a message. A lost connection is ignored, because kombu's error would end the whole worker."""
        if self.connection is not None:
            super().basic_ack(*arguments, **options)

    def basic_reject(self, *arguments: Any, **options: Any) -> None:
        """Reject a message. A lost connection is ignored."""
        if self.connection is not None:
            super().basic_reject(*arguments, **options)


class Transport(redis.Transport):
    """Redis transport with this channel."""

    Channel = Channel
