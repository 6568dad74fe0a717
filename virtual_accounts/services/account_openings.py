"""Static accounts that a provider opens: ask it, and store the number that it chose.

The request that creates an account asks once. Without an answer, the message that it wrote is sent again until there
is one (`payments.services.transfers.account_provider_calls`).
"""

from datetime import datetime

import structlog
from django.db import transaction as database

from virtual_accounts.models import AccountNumber, ProviderMessage, VirtualAccount
from virtual_accounts.providers import RailUnavailable, account_opener
from virtual_accounts.providers.protocol import AccountOrder, OpenedAccount, OpeningRefused, Pending
from virtual_accounts.services import number_pool, provider_messages
from virtual_accounts.services.number_pool import NumberTaken

log = structlog.get_logger("sluice.account_openings")

OTHER_ACCOUNT = "The settings name another account of the provider than the one that this was sent to."
NUMBER_TAKEN = "The provider names a number that another account holds."
OF_A_BUSINESS = "Business"  # providers need a first name too


def order_of(account: VirtualAccount) -> AccountOrder:
    is_business = account.account_type == VirtualAccount.AccountType.BUSINESS
    return AccountOrder(
        id=account.pk,
        first_name=OF_A_BUSINESS if is_business else account.first_name,
        last_name=account.business_name if is_business else account.last_name,
        phone_number=account.phone_number,
    )


def ask(order: AccountOrder, *, provider_account: str) -> OpenedAccount | Pending | OpeningRefused:
    """Ask the provider for an account. Needs no database.

    :raises RailUnavailable: no provider is configured
    """
    opener = account_opener()
    if opener is None or opener.account != provider_account:
        return Pending(OTHER_ACCOUNT)
    return opener.open(order)


def try_at_once(account: VirtualAccount, *, now: datetime) -> None:
    """Send the message that was just written, and store the number if the provider returns it. A refusal arrives later."""
    message = ProviderMessage.objects.get(account=account, kind=ProviderMessage.Kind.OPEN)
    try:
        answer = ask(order_of(account), provider_account=account.provider_account)
    except RailUnavailable as unavailable:
        answer = Pending(str(unavailable.detail))
    with database.atomic():
        locked = VirtualAccount.objects.select_for_update(no_key=True).get(pk=account.pk)
        why_not = store(locked, answer) if isinstance(answer, OpenedAccount) else answer.reason
        if why_not:
            provider_messages.record_failure(message, why_not, now=now)
        else:
            provider_messages.record_answer(message, now=now)
    account.refresh_from_db()
    account.current_number = account.account_number  # was read before


def store(account: VirtualAccount, opened: OpenedAccount) -> str:
    """Store the number of an account that the caller has locked. Return why that isn't possible, or an empty string."""
    number = AccountNumber(
        number=opened.number,
        bank_code=opened.bank_code,
        bank_name=opened.bank_name,
        holder=account,
        provider_account=account.provider_account,
    )
    try:
        with database.atomic():
            number_pool.hold(number)
    except NumberTaken:
        log.error("number of another account", id=str(account.pk))  # noqa: TRY400  (the message is enough)
        return NUMBER_TAKEN
    account.finish_opening(number=opened.number, bank_code=opened.bank_code, bank_name=opened.bank_name)
    return ""
