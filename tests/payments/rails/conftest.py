"""Fixtures: a simulated acquirer and bank, connected to the service."""

from collections.abc import Iterator

import pytest

from payments.simulators.bank import BankSimulator
from tests.simulators import RunningAcquirer, acquirer_connected, acquirer_running, bank_running


@pytest.fixture
def acquirer(settings) -> Iterator[RunningAcquirer]:
    with acquirer_running() as running, acquirer_connected(settings, running):
        yield running


@pytest.fixture
def bank(settings) -> Iterator[BankSimulator]:
    with bank_running(settings) as running:
        yield running
