"""Ada owns Ada Books, and Bisi owns Bisi Bikes. Neither may see data of the other."""

import pytest
from django.test import Client
from django.utils import timezone

from tests.dashboard.people import signed_in
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
    """Ada's browser, which has just signed in."""
    return signed_in(ada_member.user, client=Client())


@pytest.fixture
def other_browser(bisi_member):
    return signed_in(bisi_member.user, client=Client())


@pytest.fixture
def now():
    return timezone.now()
