import pytest

from tests.dashboard.people import signed_in
from tests.disputed import payment_of
from tests.factories import UserFactory
from tests.payments.conftest import clock  # noqa: F401


@pytest.fixture
def people():
    """Two sessions of staff."""
    return [signed_in(UserFactory(is_staff=True, is_superuser=True)) for _ in range(2)]


@pytest.fixture
def payment(api):
    return payment_of(api)
