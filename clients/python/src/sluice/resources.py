"""Groups of methods, one for each part of the API."""

from __future__ import annotations

import difflib
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import quote

from sluice import _models as models
from sluice.caller import Answer, Caller
from sluice.errors import SluiceError
from sluice.listeners import Listener
from sluice.model import Model
from sluice.pages import Page, target_of
from sluice.scenarios import Played, play

if TYPE_CHECKING:
    from typing_extensions import Unpack

M = TypeVar("M", bound=Model)

PAYMENTS, REFUNDS, ACCOUNTS = "/api/payments", "/api/refunds", "/api/virtual-accounts"
LINKS, UNAPPLIED, SETTLEMENTS = "/api/payment-links", "/api/unapplied-transfers", "/api/settlements"
EVENTS, BALANCE, BANKS = "/api/events", "/api/balance", "/api/banks"
CAPABILITIES = "/api/capabilities"
BENEFICIARIES, BATCHES = "/api/beneficiaries", "/api/payout-batches"
DISPUTES = "/api/disputes"
ENDPOINTS = "/api/webhook-endpoints"
EXAMS = "/api/sandbox/exams"
ADVANCE = "/api/sandbox/advance"
CHECKS_PREFIX = "check-"
CHECK_LETTERS = 24
POLL_SECONDS = 1.0
LISTED = " `sandbox.scenarios()` and `sluice trigger --list` list them."
WIRE = {"three_ds": "3ds"}  # names that may not begin with a digit in Python


class Resource:
    """What all groups share: calls that return models."""

    def __init__(self, caller: Caller) -> None:
        self._caller = caller

    def _get(self, kind: type[M], path: str, **query: Any) -> M:
        answer = self._caller.call("GET", path, query=query)
        return kind.read(answer.document, answer.meta)

    def _post(
        self,
        kind: type[M],
        path: str,
        body: Mapping[str, Any] | None = None,
        *,
        is_repeatable: bool | None = None,
    ) -> M:
        answer = self._caller.call("POST", path, body=body or {}, is_repeatable=is_repeatable)
        return kind.read(answer.document, answer.meta)

    def _list(
        self, kind: type[M], path: str, filters: Mapping[str, Any] | None = None, known: Any = None
    ) -> Page[M]:
        answer = self._caller.call("GET", path, query=_known(filters, known) if filters else None)
        return Page(
            data=_models(kind, answer),
            next=target_of(answer.document.get("next")),
            meta=answer.meta,
            _fetch=lambda target: self._list(kind, target),
        )


class Payments(Resource):
    """Payments by card and by bank transfer. Payouts and card checks are listed here too."""

    def card(self, **request: Unpack[models.CardPaymentArguments]) -> models.Payment:
        """Pay by card. A declined payment is returned with the status `failed`."""
        arguments = _known(request, models.CardPaymentArguments)
        return self.create({"request_type": "payment", "payment_method": "card", **arguments})

    def transfer(self, **request: Unpack[models.VirtualAccountPaymentArguments]) -> models.Payment:
        """Wait for a transfer into a virtual account. The answer has the account number for the payer."""
        arguments = _known(request, models.VirtualAccountPaymentArguments)
        return self.create({"request_type": "payment", "payment_method": "virtual_account", **arguments})

    def create(self, request: Mapping[str, Any]) -> models.Payment:
        """Send a plain request, with the names of the API."""
        return self._post(models.Payment, PAYMENTS, request)

    def get(self, reference: str) -> models.Payment:
        return self._get(models.Payment, _path(PAYMENTS, reference))

    def list(self, **filters: Unpack[models.ListPaymentsQuery]) -> Page[models.Payment]:
        """List payments, payouts and card checks, newest first."""
        return self._list(models.Payment, PAYMENTS, filters, models.ListPaymentsQuery)

    def capture(self, reference: str, amount: int | None = None) -> models.Payment:
        """Capture an authorised payment, in whole or, with an amount in minor units, in part."""
        body = {} if amount is None else {"amount": amount}
        return self._post(models.Payment, _path(PAYMENTS, reference, "capture"), body, is_repeatable=True)

    def void(self, reference: str) -> models.Payment:
        return self._post(models.Payment, _path(PAYMENTS, reference, "void"), is_repeatable=True)

    def cancel(self, reference: str) -> models.Payment:
        return self._post(models.Payment, _path(PAYMENTS, reference, "cancel"), is_repeatable=True)

    def wait(self, reference: str, timeout: float = 60) -> models.Payment:
        """Return the payment once it is final, or as it is after `timeout` seconds."""
        deadline = time.monotonic() + timeout
        while True:
            payment = self.get(reference)
            if payment.status != "pending" or time.monotonic() + POLL_SECONDS > deadline:
                return payment
            time.sleep(POLL_SECONDS)


class Payouts(Resource):
    """Payouts to bank accounts."""

    def create(self, **request: Unpack[models.PayoutArguments]) -> models.Payment:
        """Pay out. A payout that the bank refuses is returned with the status `failed`."""
        arguments = _known(request, models.PayoutArguments)
        return self._post(models.Payment, PAYMENTS, {"request_type": "payout", **arguments})


class CardChecks(Resource):
    """Checks whether a card is valid, without an amount."""

    def create(
        self, *, reference: str | None = None, **request: Unpack[models.CardCheckArguments]
    ) -> models.Payment:
        """Check a card. Without a reference it is given one, so that the call can be repeated."""
        chosen = reference or CHECKS_PREFIX + secrets.token_hex(CHECK_LETTERS // 2)
        arguments = _known(request, models.CardCheckArguments)
        body = {"request_type": "card_check", "reference": chosen, **arguments}
        return self._post(models.Payment, PAYMENTS, body)


class Refunds(Resource):
    """Refunds of card and transfer payments."""

    def create(
        self,
        payment_reference: str,
        *,
        reference: str,
        amount: int | None = None,
        reason: str | None = None,
        destination: models.DestinationRequest | None = None,
    ) -> models.Refund:
        """Refund what is left, or an amount in minor units."""
        body = _present(reference=reference, amount=amount, reason=reason, destination=destination)
        return self._post(models.Refund, _path(PAYMENTS, payment_reference, "refunds"), body)

    def get(self, reference: str) -> models.Refund:
        return self._get(models.Refund, _path(REFUNDS, reference))

    def list(self, payment_reference: str, **filters: Unpack[models.ListRefundsQuery]) -> Page[models.Refund]:
        return self._list(
            models.Refund,
            _path(PAYMENTS, payment_reference, "refunds"),
            filters,
            models.ListRefundsQuery,
        )


class VirtualAccounts(Resource):
    """Account numbers that receive money."""

    def static(self, **request: Unpack[models.StaticAccountArguments]) -> models.VirtualAccount:
        """Open an account with a permanent number for a customer."""
        return self._open(_known(request, models.StaticAccountArguments), type="static")

    def business(self, **request: Unpack[models.BusinessAccountArguments]) -> models.VirtualAccount:
        """Open a static account of a business."""
        arguments = _known(request, models.BusinessAccountArguments)
        return self._open(arguments, type="static", account_type="business")

    def dynamic(self, **request: Unpack[models.DynamicAccountArguments]) -> models.VirtualAccount:
        """Open an account that gets a number for each payment."""
        return self._open(_known(request, models.DynamicAccountArguments), type="dynamic")

    def _open(self, arguments: dict[str, Any], **kind: str) -> models.VirtualAccount:
        return self._post(models.VirtualAccount, ACCOUNTS, {**kind, **arguments})

    def get(self, reference: str) -> models.VirtualAccount:
        return self._get(models.VirtualAccount, _path(ACCOUNTS, reference))

    def list(self, **filters: Unpack[models.ListVirtualAccountsQuery]) -> Page[models.VirtualAccount]:
        return self._list(models.VirtualAccount, ACCOUNTS, filters, models.ListVirtualAccountsQuery)

    def deactivate(self, reference: str) -> models.VirtualAccount:
        return self._post(models.VirtualAccount, _path(ACCOUNTS, reference, "deactivate"), is_repeatable=True)

    def simulate_transfer(self, **request: Unpack[models.SimulateArguments]) -> models.Simulated:
        """Let money arrive, in the sandbox. Never repeated: a second call is a second transfer."""
        body = _known(request, models.SimulateArguments)
        return self._post(models.Simulated, f"{ACCOUNTS}/simulate", body, is_repeatable=False)


class Banks(Resource):
    """Banks that payouts can go to."""

    def __init__(self, caller: Caller) -> None:
        super().__init__(caller)
        self._known: tuple[str, list[models.Bank]] | None = None

    def list(self) -> list[models.Bank]:
        """List all banks. The list is kept, and fetched again only after it has changed."""
        known = self._known
        answer = self._caller.call("GET", BANKS, headers={"If-None-Match": known[0]} if known else None)
        if answer.document is None and known:
            return known[1]
        banks = _models(models.Bank, answer)
        self._known = (answer.meta.headers.get("etag", ""), banks)
        return banks

    def resolve(self, *, account_number: str, bank_code: str) -> models.Beneficiary:
        """Return the holder of an account."""
        body = {"account_number": account_number, "bank_code": bank_code}
        return self._post(models.Beneficiary, f"{BANKS}/resolve", body, is_repeatable=True)


class Capabilities(Resource):
    """What can be done in each currency."""

    def list(self) -> list[models.Capability]:
        """Return what can be done for each kind of request and currency."""
        return _models(models.Capability, self._caller.call("GET", CAPABILITIES))


class Balance(Resource):
    """Your available balance."""

    def get(self) -> list[models.Balance]:
        """Return a balance for each currency."""
        return _models(models.Balance, self._caller.call("GET", BALANCE))

    def movements(self, **filters: Unpack[models.ListMovementsQuery]) -> Page[models.Movement]:
        return self._list(models.Movement, f"{BALANCE}/movements", filters, models.ListMovementsQuery)


class Settlements(Resource):
    """Batches of payments on their way to your balance."""

    def list(self, **filters: Unpack[models.ListSettlementsQuery]) -> Page[models.Settlement]:
        return self._list(models.Settlement, SETTLEMENTS, filters, models.ListSettlementsQuery)

    def get(
        self, settlement_id: str, **page: Unpack[models.GetSettlementQuery]
    ) -> models.SettlementWithItems:
        return self._get(
            models.SettlementWithItems,
            _path(SETTLEMENTS, settlement_id),
            **_known(page, models.GetSettlementQuery),
        )


class UnappliedTransfers(Resource):
    """Money that arrived and matches no payment."""

    def list(self, **filters: Unpack[models.ListUnappliedTransfersQuery]) -> Page[models.UnappliedTransfer]:
        return self._list(models.UnappliedTransfer, UNAPPLIED, filters, models.ListUnappliedTransfersQuery)

    def credit(self, transfer_id: str, *, reason: str) -> models.UnappliedTransfer:
        """Credit it to your balance."""
        return self._decide(transfer_id, "credit", {"reason": reason})

    def return_(
        self, transfer_id: str, *, reason: str, destination: models.DestinationRequest | None = None
    ) -> models.UnappliedTransfer:
        """Return it to its sender, or to `destination`."""
        return self._decide(transfer_id, "return", _present(reason=reason, destination=destination))

    def _decide(self, transfer_id: str, decision: str, body: dict[str, Any]) -> models.UnappliedTransfer:
        path = _path(UNAPPLIED, transfer_id, decision)
        return self._post(models.UnappliedTransfer, path, body, is_repeatable=True)


class PayoutBatches(Resource):
    """Many payouts as one request: checked, approved, sent and followed."""

    def create(self, **request: Unpack[models.PayoutBatchArguments]) -> models.PayoutBatch:
        return self._post(models.PayoutBatch, BATCHES, _known(request, models.PayoutBatchArguments))

    def get(self, reference: str) -> models.PayoutBatch:
        return self._get(models.PayoutBatch, _path(BATCHES, reference))

    def list(self, **filters: Unpack[models.ListPayoutBatchesQuery]) -> Page[models.PayoutBatch]:
        return self._list(models.PayoutBatch, BATCHES, filters, models.ListPayoutBatchesQuery)

    def payouts(
        self, reference: str, **filters: Unpack[models.ListBatchPayoutsQuery]
    ) -> Page[models.PayoutBatchItem]:
        """List the payouts of a batch in the order of the file."""
        path = _path(BATCHES, reference, "payouts")
        return self._list(models.PayoutBatchItem, path, filters, models.ListBatchPayoutsQuery)

    def approve(
        self,
        reference: str,
        *,
        accept: Mapping[str, str] | None = None,
        as_far_as_balance: bool | None = None,
    ) -> models.PayoutBatch:
        """Release a batch. `accept`: why payouts that are not `ok` are paid, by their references."""
        body = _present(accept=accept, as_far_as_balance=as_far_as_balance)
        return self._post(models.PayoutBatch, _path(BATCHES, reference, "approve"), body, is_repeatable=True)

    def cancel(self, reference: str) -> models.PayoutBatch:
        """Cancel what is not sent yet."""
        return self._post(models.PayoutBatch, _path(BATCHES, reference, "cancel"), is_repeatable=True)

    def retry(self, reference: str) -> models.PayoutBatch:
        """Make a new batch of the failed payouts."""
        return self._post(models.PayoutBatch, _path(BATCHES, reference, "retry"), is_repeatable=True)


class Beneficiaries(Resource):
    """Bank accounts that you pay."""

    def create(self, **request: Unpack[models.SavedBeneficiaryArguments]) -> models.SavedBeneficiary:
        body = _known(request, models.SavedBeneficiaryArguments)
        return self._post(models.SavedBeneficiary, BENEFICIARIES, body)

    def get(self, reference: str) -> models.SavedBeneficiary:
        return self._get(models.SavedBeneficiary, _path(BENEFICIARIES, reference))

    def list(self, **filters: Unpack[models.ListBeneficiariesQuery]) -> Page[models.SavedBeneficiary]:
        return self._list(models.SavedBeneficiary, BENEFICIARIES, filters, models.ListBeneficiariesQuery)

    def update(
        self, reference: str, **changes: Unpack[models.BeneficiaryChangeArguments]
    ) -> models.SavedBeneficiary:
        body = _known(changes, models.BeneficiaryChangeArguments, keep_none=True)
        answer = self._caller.call("PATCH", _path(BENEFICIARIES, reference), body=body, is_repeatable=True)
        return models.SavedBeneficiary.read(answer.document, answer.meta)

    def delete(self, reference: str) -> None:
        """Hide a beneficiary. Its payouts stay."""
        self._caller.call("DELETE", _path(BENEFICIARIES, reference))


class Disputes(Resource):
    """What cardholders' banks take back, and your answers."""

    def list(self, **filters: Unpack[models.ListDisputesQuery]) -> Page[models.Dispute]:
        return self._list(models.Dispute, DISPUTES, filters, models.ListDisputesQuery)

    def get(self, dispute_id: str) -> models.Dispute:
        return self._get(models.Dispute, _path(DISPUTES, dispute_id))

    def add_evidence(self, dispute_id: str, *, kind: str, text: str) -> models.DisputeEvidence:
        """Add a text to your answer. Nothing is sent until you submit it."""
        path = _path(DISPUTES, dispute_id, "evidence")
        return self._post(models.DisputeEvidence, path, {"kind": kind, "text": text}, is_repeatable=False)

    def remove_evidence(self, dispute_id: str, item_id: str) -> None:
        """Remove a text or a file from your answer, before you submit it."""
        self._caller.call("DELETE", _path(DISPUTES, dispute_id, "evidence", item_id))

    def submit(self, dispute_id: str, *, leave_out: Sequence[str] | None = None) -> models.Dispute:
        """Submit your answer, once. `leave_out` names parts of the packet that aren't sent with your evidence."""
        path = _path(DISPUTES, dispute_id, "submit")
        return self._post(models.Dispute, path, _present(leave_out=leave_out), is_repeatable=True)

    def accept(self, dispute_id: str, *, amount: int | None = None) -> models.Dispute:
        """Concede all of it, or an amount in minor units. That is final."""
        path = _path(DISPUTES, dispute_id, "accept")
        return self._post(models.Dispute, path, _present(amount=amount), is_repeatable=True)


class PaymentLinks(Resource):
    """Pages on which payers pay."""

    def create(self, **request: Unpack[models.LinkArguments]) -> models.PaymentLink:
        return self._post(models.PaymentLink, LINKS, _known(request, models.LinkArguments))

    def get(self, reference: str) -> models.PaymentLink:
        return self._get(models.PaymentLink, _path(LINKS, reference))

    def list(self, **filters: Unpack[models.ListPaymentLinksQuery]) -> Page[models.PaymentLink]:
        return self._list(models.PaymentLink, LINKS, filters, models.ListPaymentLinksQuery)

    def update(self, reference: str, **changes: Unpack[models.LinkChangeArguments]) -> models.PaymentLink:
        body = _known(changes, models.LinkChangeArguments, keep_none=True)
        answer = self._caller.call("PATCH", _path(LINKS, reference), body=body, is_repeatable=True)
        return models.PaymentLink.read(answer.document, answer.meta)

    def activate(self, reference: str) -> models.PaymentLink:
        return self._post(models.PaymentLink, _path(LINKS, reference, "activate"), is_repeatable=True)

    def deactivate(self, reference: str) -> models.PaymentLink:
        return self._post(models.PaymentLink, _path(LINKS, reference, "deactivate"), is_repeatable=True)

    def checkouts(
        self, reference: str, **filters: Unpack[models.ListCheckoutsQuery]
    ) -> Page[models.Checkout]:
        return self._list(
            models.Checkout, _path(LINKS, reference, "checkouts"), filters, models.ListCheckoutsQuery
        )


class Events(Resource):
    """Events that you were notified of."""

    def list(self, **filters: Unpack[models.ListEventsQuery]) -> Page[models.EventRecord]:
        return self._list(models.EventRecord, EVENTS, filters, models.ListEventsQuery)

    def get(self, event_id: str) -> models.EventInDetail:
        return self._get(models.EventInDetail, _path(EVENTS, event_id))

    def resend(self, event_id: str, *, to: str | None = None) -> models.EventRecord:
        """Send an event again. Never repeated: look the event up if the answer is lost."""
        path = _path(EVENTS, event_id, "resend")
        return self._post(models.EventRecord, path, _present(to=to), is_repeatable=False)


class WebhookEndpoints(Resource):
    """URLs that receive your events."""

    def create(self, **request: Unpack[models.WebhookEndpointArguments]) -> models.WebhookEndpointWithKey:
        """Create an endpoint. Never repeated: if the answer is lost, list the endpoints and rotate the key."""
        body = _known(request, models.WebhookEndpointArguments)
        return self._post(models.WebhookEndpointWithKey, ENDPOINTS, body, is_repeatable=False)

    def list(self, **filters: Unpack[models.ListWebhookEndpointsQuery]) -> Page[models.WebhookEndpoint]:
        return self._list(models.WebhookEndpoint, ENDPOINTS, filters, models.ListWebhookEndpointsQuery)

    def get(self, endpoint_id: str) -> models.WebhookEndpoint:
        return self._get(models.WebhookEndpoint, _path(ENDPOINTS, endpoint_id))

    def update(
        self, endpoint_id: str, **changes: Unpack[models.WebhookEndpointChangeArguments]
    ) -> models.WebhookEndpoint:
        body = _known(changes, models.WebhookEndpointChangeArguments, keep_none=True)
        answer = self._caller.call("PATCH", _path(ENDPOINTS, endpoint_id), body=body, is_repeatable=True)
        return models.WebhookEndpoint.read(answer.document, answer.meta)

    def delete(self, endpoint_id: str) -> None:
        """Delete an endpoint. Its deliveries that wait are skipped."""
        self._caller.call("DELETE", _path(ENDPOINTS, endpoint_id))

    def rotate(
        self, endpoint_id: str, *, overlap_hours: float | None = None
    ) -> models.WebhookEndpointWithKey:
        """Rotate the signing key. Never repeated: if the answer is lost, rotate again."""
        path = _path(ENDPOINTS, endpoint_id, "rotate")
        body = _present(overlap_hours=overlap_hours)
        return self._post(models.WebhookEndpointWithKey, path, body, is_repeatable=False)


class Requests(Resource):
    """The log of your requests to this API."""

    def list(self, **filters: Unpack[models.ListRequestsQuery]) -> Page[models.RequestLogEntry]:
        return self._list(models.RequestLogEntry, "/api/requests", filters, models.ListRequestsQuery)


class Sandbox(Resource):
    """What only the sandbox does."""

    def scenarios(self) -> list[models.Scenario]:
        """List what can be made to happen."""
        return _models(models.Scenario, self._caller.call("GET", "/api/sandbox/scenarios"))

    def play(self, name: str, changes: Mapping[str, Any] | None = None) -> Played:
        """Play a scenario by its name, with changes such as `{"pay.amount": 500}`.

        :raises UnknownScenario: there is none of this name
        :raises WrongChange: the scenario has no such field, or the value has another type
        :raises UnexpectedAnswer: a step was answered otherwise
        """
        known = {scenario.name: scenario for scenario in self.scenarios()}
        if name not in known:
            near = difflib.get_close_matches(name, known, n=3)
            question = f" Did you mean {' or '.join(near)}?" if near else ""
            raise UnknownScenario(f"There is no scenario {name}.{question or LISTED}")
        return play(self._caller, known[name], changes)

    def advance_payment(self, reference: str, until: str | None = None) -> models.AdvancedPayment:
        """Let what a payment waits for happen now. Until `watch`, fail one that its acquirer doesn't know, or look again."""
        body = _present(payment=reference, until=until)
        return self._post(models.AdvancedPayment, ADVANCE, body, is_repeatable=False)

    def advance_payout_batch(self, reference: str, until: str | None = None) -> models.PayoutBatch:
        """Have a batch checked or sent now, your server asked about it, or its wait for approval or money ended.

        Until `rejected`, have another member reject it.
        """
        body = _present(payout_batch=reference, until=until)
        return self._post(models.PayoutBatch, ADVANCE, body, is_repeatable=False)

    def advance_event(self, event_id: str) -> models.EventRecord:
        """Have the next attempt of a waiting event made now. Repeat the call to make all eight."""
        return self._post(models.EventRecord, ADVANCE, {"event": event_id}, is_repeatable=False)

    def close_day(
        self,
        state: str = "released",
        settlement_account: models.FirstSettlementAccountRequest | None = None,
    ) -> models.ClosedDay:
        """Settle everything that has no batch, and move the new batches to `pending`, `approved`, `released` or `rejected`.

        `settlement_account`: pay out what was released. It becomes your settlement account if you have none.
        """
        wanted = {"day": state} | ({"settlement_account": settlement_account} if settlement_account else {})
        return self._post(models.ClosedDay, ADVANCE, wanted, is_repeatable=False)

    def return_reserve(self, settlement_id: str) -> models.ClosedDay:
        """Return what is held of a released settlement to your balance, as if its days were over."""
        return self._post(models.ClosedDay, ADVANCE, {"reserve": settlement_id}, is_repeatable=False)

    def listener(self, name: str) -> Listener:
        """Return a listener, which polls for copies of your events once it has begun."""
        return Listener(self._caller, name, _path("/api/sandbox/listeners", name))

    def exam(
        self, *, target: str = "endpoint", endpoint_id: str | None = None, listener: str | None = None
    ) -> models.Exam:
        """Start an exam of your first endpoint, or another one. For the target `client`, report the answers to its `requests`."""
        body = _present(target=target, endpoint_id=endpoint_id, listener=listener)
        return self._post(models.Exam, EXAMS, body, is_repeatable=False)

    def get_exam(self, exam_id: str) -> models.Exam:
        return self._get(models.Exam, _path(EXAMS, exam_id))

    def report_exam(
        self, exam_id: str, *, answers: Sequence[Mapping[str, Any]] | None = None, acted: str | None = None
    ) -> models.Exam:
        """Report the answers to the requests of an exam, or your own to its question: `0`, `1` or `more`."""
        body = _present(answers=answers, acted=acted)
        return self._post(models.Exam, _path(EXAMS, exam_id, "answers"), body)


class UnknownScenario(SluiceError, KeyError):
    """There is no scenario of this name."""

    __str__ = SluiceError.__str__


class UnknownArgument(SluiceError, TypeError):
    """A method has no such argument."""


class WrongReference(SluiceError, ValueError):
    """A reference is empty, or has a slash, so that it can't be part of a path."""

    exit_code = 2


def _known(given: Mapping[str, Any], arguments: Any, *, keep_none: bool = False) -> dict[str, Any]:
    """Return the arguments under the names of the API, without those that are None unless None removes a value.

    :raises UnknownArgument: there is no such argument
    """
    names = arguments.__annotations__
    for name in given:
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1)
            question = f"; did you mean {near[0]}?" if near else "."
            raise UnknownArgument(f"There is no argument {name}{question}")
    return {WIRE.get(name, name): value for name, value in given.items() if keep_none or value is not None}


def _models(kind: type[M], answer: Answer) -> list[M]:
    """Return the items of a list. Each has the meta of the answer."""
    return [kind.read(each, answer.meta) for each in answer.data]


def _present(**values: Any) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}


def _path(*parts: str) -> str:
    """Return a path; references are quoted as they are signed.

    :raises WrongReference: a reference is empty, or has a slash
    """
    first, *others = parts
    for part in others:
        if not part or "/" in part:
            raise WrongReference(f"{part!r} is no reference: it is empty, or has a slash.")
    return "/".join([first, *(quote(part, safe="-._~:") for part in others)])
