"""Signing keys of listeners."""

import re
from uuid import UUID

from webhooks.listeners.listener_keys import hash_key

BUSINESS = UUID("5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11")
OTHER = UUID("5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a12")


def test_key_is_the_same_each_time():
    assert hash_key(BUSINESS, "laptop") == hash_key(BUSINESS, "laptop")
    assert re.fullmatch(r"whk_listen_[A-Za-z0-9_-]{43}", hash_key(BUSINESS, "laptop"))


def test_key_differs_between_businesses_and_names():
    assert len({hash_key(BUSINESS, "laptop"), hash_key(OTHER, "laptop"), hash_key(BUSINESS, "Laptop")}) == 3


def test_key_depends_on_the_secret_of_the_service(settings):
    before = hash_key(BUSINESS, "laptop")
    settings.SECRET_KEY = "another secret of at least thirty-two characters"
    assert hash_key(BUSINESS, "laptop") != before
