"""Static accounts whose provider answers later than the request that created them."""

from uuid import uuid4

from django.utils import timezone

from merchants.models import Business
from payments.services.transfers import opened_accounts
from tests import orders
from virtual_accounts.models import VirtualAccount
from virtual_accounts.providers.protocol import OpenedAccount, OpeningRefused

OPENED = OpenedAccount(number="9930000737", bank_code="035", bank_name="Wema Bank")
REFUSED = OpeningRefused("The phone number is invalid.")


def open_later(business: Business, answer: OpenedAccount | OpeningRefused = OPENED) -> VirtualAccount:
    """Create an account that waits for its provider, and apply the answer."""
    account = VirtualAccount.objects.create(
        id=uuid4(),
        business=business,
        reference=orders.new_reference("va"),
        type=VirtualAccount.Type.STATIC,
        account_type=VirtualAccount.AccountType.INDIVIDUAL,
        currency="NGN",
        status=VirtualAccount.Status.INACTIVE,
        opening=VirtualAccount.Opening.PENDING,
        provider_account="paystack:463433",
        first_name="Ada",
        last_name="Obi",
        email="ada@example.com",
        created_at=timezone.now(),
    )
    assert opened_accounts.apply(account.pk, answer) is None
    account.refresh_from_db()
    return account
