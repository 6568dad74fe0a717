"""Ada owns Ada Books, Bisi owns Bisi Bikes; neither may learn of the other."""

import pytest
from django.test import Client

from tests.factories import MemberFactory

PASSWORD = "a password of hers"


@pytest.fixture
def ada_member(ada):
    return MemberFactory(business=ada.business, user__email="ada@example.com", user__password=PASSWORD)


@pytest.fixture
def bisi_member(bisi):
    return MemberFactory(business=bisi.business, user__email="bisi@example.com", user__password=PASSWORD)


@pytest.fixture
def visitor():
    return Client(enforce_csrf_checks=False)


@pytest.fixture
def browser(ada_member):
    """Ada's, signed in."""
    client = Client()
    client.force_login(ada_member.user)
    return client


@pytest.fixture
def other_browser(bisi_member):
    client = Client()
    client.force_login(bisi_member.user)
    return client
