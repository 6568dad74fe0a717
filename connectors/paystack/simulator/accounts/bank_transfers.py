"""Pay with Transfer, and money that arrives on one-time and dedicated accounts."""

from datetime import datetime, timedelta
from typing import Any

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.answers import Answer, Document, Refused, dates, ok, timestamp
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import transactions
from connectors.paystack.simulator.records import DedicatedAccount, Session, Transaction


class UnknownAccount(ValueError):
    """The number is no account of this integration."""


def open_session(integration: Integration, made: Transaction, asked: Any) -> Answer:
    """Give a charge its one-time account. The expiry is silently clamped to 15 minutes to 8 hours [D1]."""
    slug, (bank, bank_id) = next(iter(tables.HOSTS[integration.domain].items()))
    made.channel, made.status = "bank_transfer", "pending_bank_transfer"
    made.session = Session(
        account_number=_number(integration),
        bank={"slug": slug, "name": bank, "id": bank_id},
        account_name="PAYSTACK CHECKOUT",
        expires_at=_expiry(integration, asked.get("account_expires_at") if isinstance(asked, dict) else None),
    )
    integration.tables.sessions[made.session.account_number] = made
    life = (made.session.expires_at - integration.now()).total_seconds()
    integration.schedule.add(life, lambda: _expire(integration, made))
    data = {"reference": made.reference, "status": made.status} | session_document(made.session)
    return ok("Charge attempted", data)


def session_document(session: Session) -> Document:
    return {
        "display_text": "Please make a transfer to the account specified",
        "account_name": session.account_name,
        "account_number": session.account_number,
        "bank": session.bank,
        "account_expires_at": timestamp(session.expires_at),
    }


def _number(integration: Integration) -> str:
    is_reused = integration.variants["session_numbers"] == "reused" and integration.free_numbers
    return integration.free_numbers.pop(0) if is_reused else integration.account_number()


def _expiry(integration: Integration, text: Any) -> datetime:
    shortest, longest = (integration.now() + timedelta(seconds=limit) for limit in tables.SESSION_SECONDS)
    if not text:
        return longest
    try:
        asked = datetime.fromisoformat(str(text))
    except ValueError:
        raise Refused("date") from None
    return min(max(asked if asked.tzinfo else asked.replace(tzinfo=shortest.tzinfo), shortest), longest)


def _expire(integration: Integration, made: Transaction) -> None:
    if made.status == "pending_bank_transfer":
        _end(integration, made, integration.variants["expired_session"])


def _end(integration: Integration, made: Transaction, status: str) -> None:
    made.status = status
    if made.session:
        integration.free_numbers.append(made.session.account_number)


def receive(integration: Integration, *, account_number: str, amount: int, **sender: Any) -> str:
    """Receive a transfer, and return what became of it: `accepted`, `rejected` (sent back) or `unnoticed`.

    :raises UnknownAccount: there is no such account
    """
    books, paid = integration.books, integration.tables.sessions.get(account_number)
    account = integration.tables.accounts.get(account_number)
    if paid is None and account is None:
        raise UnknownAccount(f"{account_number!r} is no account of this integration")
    books.received.append((account_number, amount))
    if account:
        is_accepted = _to_account(integration, account, amount, sender)
        if is_accepted is None:
            return "unnoticed"
    else:
        is_accepted = paid is not None and _to_session(integration, paid, amount, sender)
    if not is_accepted:
        books.sent_back.append((account_number, amount))
    return "accepted" if is_accepted else "rejected"


def _to_session(integration: Integration, paid: Transaction, amount: int, sender: Document) -> bool:
    """Accept the exact amount in time. Paystack sends anything else back; only a wrong amount has an event [D1]."""
    if paid.status != "pending_bank_transfer":
        return False
    if amount != paid.amount:
        _reject(integration, paid, amount)
        return False
    paid.authorization = authorization(integration, paid.channel, sender)
    _end(integration, paid, "success")
    transactions.succeed(integration, paid)
    return True


def _reject(integration: Integration, paid: Transaction, amount: int) -> None:
    shown = amount if integration.variants["rejected_amount"] == "sent" else paid.amount
    if integration.variants["rejected_session"] == "failed":
        _end(integration, paid, "failed")
    rejected = {
        "amount": str(shown),
        "message": "incorrect amount sent",
        "message_type": "INCORRECT_AMOUNT",
        "transaction_id": str(paid.id),
    }
    origin = {"domain": integration.domain, "integration": integration.settings.integration}
    payer = transactions.customer(paid.customer, is_short=True) | origin | dates(paid.customer.created_at)
    integration.event("bank.transfer.rejected", {"bank_transfer": rejected, "customer": payer})


def _to_account(
    integration: Integration, account: DedicatedAccount, amount: int, sender: Document
) -> bool | None:
    """Accept any amount. Return None if the money stays unnoticed until a requery."""
    if not account.is_assigned:
        return False
    if sender.pop("unnoticed", False):
        account.unnoticed.append({"amount": amount, **sender})
        return None
    credit(integration, account, amount, sender)
    return True


def credit(integration: Integration, account: DedicatedAccount, amount: int, sender: Document) -> None:
    paid = integration.new_transaction(reference="", amount=amount, email=account.customer.email)
    paid.channel, paid.entry_point = "dedicated_nuban", "dedicated_nuban"
    paid.authorization = authorization(integration, paid.channel, sender) | {
        "receiver_bank_account_number": account.account_number,
        "receiver_bank": account.bank_name,
    }
    transactions.succeed(integration, paid)


def authorization(integration: Integration, channel: str, sender: Document) -> Document:
    """Describe who sent a transfer. The number is masked, and there is no code of the bank [O]."""
    number = str(sender.get("sender_account", "0123456789"))
    bank = sender.get("sender_bank", "Access Bank") if channel == "dedicated_nuban" else None
    return {
        "authorization_code": integration.code("AUTH")[:15],
        "bin": f"{number[:3]}XXX",
        "last4": f"X{number[-3:]}",
        "exp_month": f"{integration.now():%m}",
        "exp_year": f"{integration.now():%Y}",
        "channel": channel,
        "card_type": "transfer",
        "bank": bank,
        "country_code": "NG",
        "brand": "Managed Account",
        "reusable": False,
        "signature": None,
        "account_name": None,
        "sender_country": "NG",
        "sender_bank": bank,
        "sender_bank_account_number": f"XXXXXX{number[-4:]}",
        "sender_name": sender.get("sender_name", "ADA OBI"),
        "narration": sender.get("narration", "NIP transfer"),
    }
