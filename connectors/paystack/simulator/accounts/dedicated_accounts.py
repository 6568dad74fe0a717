"""Dedicated accounts: numbers of a customer that take any amount."""

from connectors.paystack.simulator import tables
from connectors.paystack.simulator.accounts import bank_transfers, customers
from connectors.paystack.simulator.answers import Answer, Document, Refused, Request, ok, page, timestamp
from connectors.paystack.simulator.control import timelines
from connectors.paystack.simulator.integration import Integration
from connectors.paystack.simulator.payments import transactions
from connectors.paystack.simulator.records import Customer, DedicatedAccount

CHECKING = "We are checking the status of your transfer. We will send you a notification once it is confirmed"


def fetch_customer(integration: Integration, request: Request) -> Answer:
    shown = customers.by_key(integration, request.params["code"])
    accounts = [_account(each) for each in _accounts_of(integration, shown)]
    dates = {"created_at": timestamp(shown.created_at), "updated_at": timestamp(shown.created_at)}
    totals = {"total_transactions": 0, "total_transaction_value": []}
    owned = {"dedicated_account": accounts[0] if accounts else None, "dedicated_accounts": accounts}
    return ok("Customer retrieved", customers.document(integration, shown) | dates | totals | owned)


def create(integration: Integration, request: Request) -> Answer:
    """Give a customer a dedicated account, at once."""
    request.need("customer")
    customer = customers.by_key(integration, request.text("customer"))
    made = _open(integration, customer, request.text("preferred_bank"))
    owner = {"customer": transactions.customer(customer)}
    assignment = _assignment(integration, made, "Customer")
    return ok("NUBAN successfully created", _account(made) | assignment | owner)


def _open(integration: Integration, customer: Customer, slug: str) -> DedicatedAccount:
    hosts = tables.HOSTS[integration.domain]
    _check_allowed(integration, customer)
    if slug and slug not in hosts:
        raise Refused("bank")
    slug = slug or next(iter(hosts))
    if owned := [each for each in _accounts_of(integration, customer) if each.slug == slug]:
        if integration.variants["second_account"] == "refused":
            raise Refused("account_repeated")
        return owned[0]
    bank_name, bank_id = hosts[slug]
    name = f"{integration.settings.business.upper()}/{customer.first_name} {customer.last_name}"
    number, now = integration.account_number(), integration.now()
    made = DedicatedAccount(integration.next_id(), number, customer, slug, bank_name, bank_id, name, now)
    integration.tables.accounts[made.account_number] = made
    return made


def _check_allowed(integration: Integration, customer: Customer) -> None:
    if integration.switches["accounts_refused"]:
        raise Refused("accounts_refused")
    if not (customer.first_name and customer.last_name and customer.phone):
        raise Refused("customer_incomplete")
    if integration.switches["identification_required"] and not customer.is_identified:
        raise Refused("customer_unidentified")
    if sum(each.is_assigned for each in integration.tables.accounts.values()) >= tables.ACCOUNT_LIMIT:
        raise Refused("account_limit")


def _accounts_of(integration: Integration, customer: Customer) -> list[DedicatedAccount]:
    accounts = integration.tables.accounts.values()
    return [each for each in accounts if each.customer is customer and each.is_assigned]


def _account(shown: DedicatedAccount) -> Document:
    return {
        "bank": {"name": shown.bank_name, "id": shown.bank_id, "slug": shown.slug},
        "account_name": shown.account_name,
        "account_number": shown.account_number,
        "assigned": shown.is_assigned,
        "currency": "NGN",
        "metadata": None,
        "active": True,
        "id": shown.id,
        "created_at": timestamp(shown.created_at),
        "updated_at": timestamp(shown.created_at),
    }


def _assignment(integration: Integration, shown: DedicatedAccount, to: str) -> Document:
    assignment: Document = {
        "integration": integration.settings.integration,
        "assignee_id": shown.customer.id,
        "assignee_type": to,
        "expired": False,
        "account_type": "PAY-WITH-TRANSFER-RECURRING",
        "assigned_at": timestamp(shown.created_at),
        "expired_at": None,
    }
    if to == "Integration":
        del assignment["expired"], assignment["expired_at"]
    return {"assignment": assignment}


def _listed(shown: DedicatedAccount) -> Document:
    owner = {"customer": transactions.customer(shown.customer), "split_config": None}
    return {name: value for name, value in _account(shown).items() if name != "metadata"} | owner


def _by_id(integration: Integration, number: str) -> DedicatedAccount:
    for each in integration.tables.accounts.values():
        if str(each.id) == number:
            return each
    raise Refused("account_missing")


def list_all(integration: Integration, request: Request) -> Answer:
    """Return accounts. The customer is a numeric id, not a code [M1]."""
    query = request.query
    rows = [
        each
        for each in integration.tables.accounts.values()
        if query.get("customer") in {None, str(each.customer.id)}
        and query.get("provider_slug") in {None, each.slug}
        and each.is_assigned
    ]
    shown, meta = page(rows, query)
    return ok("Managed accounts successfully retrieved", [_listed(each) for each in shown], meta=meta)


def deactivate(integration: Integration, request: Request) -> Answer:
    """Take an account from its customer. There is no way back."""
    closed = _by_id(integration, request.params["id"])
    closed.is_assigned = False
    assignment = _assignment(integration, closed, "Integration")
    return ok("Managed Account Successfully Unassigned", _account(closed) | assignment)


def assign(integration: Integration, request: Request) -> Answer:
    """Create a customer and an account in one. The result comes as an event."""
    request.need("email", "first_name", "last_name", "phone", "preferred_bank", "country")
    if integration.switches["accounts_refused"]:
        raise Refused("accounts_refused")
    customer = integration.customer_of(request.text("email"))
    customers.rename(customer, request)

    def step(status: str) -> bool:
        if status in {"success", "failed"}:
            _announce(integration, customer, request.text("preferred_bank"), status)
        return True

    timelines.follow(integration.timeline("assignment"), integration.schedule, step)
    return ok("Assign dedicated account in progress")


def _announce(integration: Integration, customer: Customer, slug: str, status: str) -> None:
    """Announce an account. A failure names nothing but the customer [O]."""
    account = None
    if status == "success":
        try:
            made = _open(integration, customer, slug)
            account = _account(made) | _assignment(integration, made, "Customer")
        except Refused:
            status = "failed"
    integration.event(
        f"dedicatedaccount.assign.{status}",
        {
            "customer": transactions.customer(customer),
            "dedicated_account": account,
            "identification": {"status": status},
        },
    )


def providers(integration: Integration, request: Request) -> Answer:
    if integration.switches["accounts_refused"]:
        raise Refused("accounts_refused")
    rows = [
        {"provider_slug": slug, "bank_id": bank_id, "bank_name": name, "id": bank_id + 100}
        for slug, (name, bank_id) in tables.HOSTS[integration.domain].items()
    ]
    return ok("Dedicated account providers retrieved", rows)


def requery(integration: Integration, request: Request) -> Answer:
    """Credit money that went unnoticed. It is announced by events."""
    account = integration.tables.accounts.get(request.query.get("account_number", ""))
    if account is None:
        raise Refused("account_missing")
    now = integration.now()
    if account.requeried_at and (now - account.requeried_at).total_seconds() < tables.REQUERY_SECONDS:
        raise Refused("requery")
    account.requeried_at = now
    for sender in account.unnoticed:
        bank_transfers.credit(integration, account, sender.pop("amount"), sender)
    account.unnoticed.clear()
    return ok(CHECKING)
