"""A file of payouts names banks as on the dashboard's page, and `sluice payout-batches create` finds the same ones."""

import pytest
from sluice.cli.bank_names import BankNames

from dashboard.payout_batches import bank_names
from kit import banks

WRITTEN = [
    "First Bank",
    "GTBank",
    "Gtbank Plc",
    "Stanbic",
    "Kuda MFB",
    "Moniepoint",
    "OPay",
    "Opay Digital Services",
    "PalmPay Limited",
    "Zenith",
    "Access",
    "Access Microfinance Bank",
    "FBN Merchant Bank",
    "Fidelity & Co",
    "Citi Bank",
    "United Bank for Africa",
    "Jaíz",
    "Trust Bank",
    "Bank of Nowhere",
    "",
]


@pytest.fixture(scope="module")
def names():
    return BankNames(banks.all_banks())


@pytest.mark.parametrize(
    "text", [*WRITTEN, *bank_names.SHORT_NAMES, *(bank.name for bank in banks.all_banks())]
)
def test_name_means_the_same_bank_as_on_the_page(names, text):
    found = bank_names.find_bank(text)

    assert names.code_of(text) == (found.code if found else None)
