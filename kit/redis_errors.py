"""The errors of the Redis client, imported when one is handled: the client takes 60 ms that commands don't need."""


def redis_error() -> type[Exception]:
    """Return the base class of the client's errors, for an `except` clause."""
    from redis.exceptions import RedisError  # noqa: PLC0415

    return RedisError
