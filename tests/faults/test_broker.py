"""A connection to the broker is lost while a message is unacknowledged."""

import pytest
from kombu import Connection, Consumer, Exchange, Message, Producer, Queue

from config.runtime.broker import Transport
from tests.faults.processes import Redis

pytestmark = [pytest.mark.faults, pytest.mark.representative]

WORK = Queue("work")
REPLIES = Queue("replies", Exchange("replies", "fanout"), auto_delete=True)


@pytest.fixture
def redis(tmp_path):
    running = Redis(tmp_path)
    running.start()
    yield running
    running.kill()


def connection_with_message(redis):
    """Return a connection, and the message that was taken from its queue."""
    connection = Connection(f"redis://127.0.0.1:{redis.port}/0", transport=Transport)
    taken = []
    Producer(connection.default_channel).publish({}, routing_key="work", declare=[WORK])
    Consumer(
        connection.default_channel, [WORK], callbacks=[lambda _, message: taken.append(message)]
    ).consume()
    connection.drain_events(timeout=5)
    return connection, taken


class TestConnection:
    def test_lost_with_an_unacknowledged_message_can_be_closed(self, redis):
        """What a worker does when Redis is killed. With kombu's own transport, an error would end the
        worker.
        """
        connection, taken = connection_with_message(redis)
        connection.default_channel._brpop_start()  # it waits for the next message
        remote_control = connection.channel()
        Consumer(remote_control, [REPLIES], callbacks=[print]).consume()
        remote_control.client.ping()

        redis.kill()
        connection.collect(socket_timeout=1)
        connection.close()

        assert len(taken) == 1

    @pytest.mark.parametrize("answer", [Message.ack, Message.reject, Message.requeue])
    def test_when_lost_does_not_prevent_acknowledgements(self, redis, answer):
        """What a worker does when Redis is killed before it acknowledges a message that it took."""
        connection, taken = connection_with_message(redis)

        redis.kill()
        connection.collect(socket_timeout=1)

        answer(taken[0])
