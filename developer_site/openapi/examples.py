"""Examples of requests that the sandbox accepts unchanged, and of its responses.

Values are the examples of the declared fields. Here stands only what makes one example differ from another.
"""

from typing import Any

from disputes import serializers as dispute_forms
from kit.api.fields.answer_fields import Answer, ListOf
from kit.api.fields.strict_fields import RequestSerializer
from ledger.representation import BALANCE_OF_CURRENCY
from payments.api import beneficiary_serializers as beneficiary_forms
from payments.api import exam_serializers as exam_forms
from payments.api import link_serializers as links
from payments.api import serializers as forms
from payments.api import webhook_endpoint_serializers as endpoint_forms
from payments.examples import (
    ADVANCED,
    CANCELLED,
    CHALLENGED_CARD,
    CREATED_PAYMENT,
    CREDITED,
    DECLINED_AMOUNT,
    DISPUTE,
    DISPUTE_EVIDENCE,
    PAID,
    PAYMENT,
    REFUND,
    RETURNED,
    SETTLEMENT,
    UNAPPLIED,
    VOIDED,
    Example,
    named,
)
from payments.representation import beneficiaries as beneficiaries_shown
from payments.representation import events
from payments.representation import links as links_shown
from payments.representation import payments as shown
from payments.representation import webhook_endpoints as endpoints_shown
from payments.sandbox.scenario_representation import SCENARIO, VERSION
from payments.sandbox.scenarios import find as find_scenario
from payments.services.rails.capabilities import CapabilityFlow
from payments.views.capabilities import CAPABILITIES, CAPABILITY
from payments.views.sandbox import CLOSED_DAY
from payments.views.wallet import MOVEMENT
from payout_batches import serializers as batch_forms
from payout_batches.representation import PAYOUT_BATCH, PAYOUT_BATCH_ITEM
from virtual_accounts import representation as accounts
from virtual_accounts import serializers as account_forms
from webhooks.exams import exam_representation as exam
from webhooks.listeners import listener_serializers as listeners
from webhooks.listeners.listener_representation import EVENT_COPY, LISTENER_POLL

# Requests --------------------------------------------------------------------------------------------


def _request(serializer: type[RequestSerializer], names: str = "", **changes: Any) -> Example:
    """Return the examples of these fields, by default of all, with those of nested objects."""
    fields: Any = serializer().fields
    chosen = names.split() or [name for name in fields if name not in changes]
    nested = {
        name: _request(type(fields[name])) for name in chosen if isinstance(fields[name], RequestSerializer)
    }
    return {name: nested.get(name) or fields[name].example for name in chosen} | changes


_CARD = _request(forms.SourceSerializer, "type pan name expiry_month expiry_year cvv")
_CARD_PAYMENT = _request(
    forms.CardPaymentSerializer,
    "request_type payment_method reference amount currency redirect_url",
    source=_CARD,
)
_ADDRESS = _request(account_forms.AddressSerializer, "address_line1 city state postal_code country")
# By the name of their component. Requests that are not here have no fields.
REQUESTS: dict[str, Example] = {
    "CreatePaymentRequest": named(
        card_payment=_CARD_PAYMENT,
        card_payment_with_everything=_request(forms.CardPaymentSerializer)
        | {"reference": "order-1043", "3ds": {"enabled": True, "challenge_preference": "no_challenge"}},
        card_payment_with_challenge=_CARD_PAYMENT
        | {"reference": "order-1044", "source": _CARD | {"pan": CHALLENGED_CARD}},
        card_payment_to_capture_later=_CARD_PAYMENT | {"reference": "order-1045", "capture": False},
        card_payment_that_is_declined=_CARD_PAYMENT | {"reference": "order-1046", "amount": DECLINED_AMOUNT},
        virtual_account_payment=_request(
            forms.VirtualAccountPaymentSerializer,
            "request_type payment_method amount currency payment_method_id expiry_duration",
            reference="order-1047",
        ),
        payout=_request(
            forms.PayoutSerializer,
            "request_type amount currency",
            reference="payout-5",
            customer=_request(forms.BeneficiarySerializer, "name account_number bank_code"),
        ),
        card_check=_request(forms.CardCheckSerializer, "request_type reference currency source"),
    ),
    "LinkRequest": named(
        fixed_amount=_request(
            links.LinkSerializer, "reference title amount currency max_uses expires_at redirect_url"
        ),
        payer_chooses_the_amount=_request(
            links.LinkSerializer,
            "title currency amount_range description",
            reference="donations",
        ),
        one_order=_request(
            links.LinkSerializer,
            "title amount currency customer",
            reference="order-1042",
            max_uses=1,
        ),
    ),
    "LinkChangeRequest": named(raise_the_limit={"max_uses": 25, "expires_at": None}),
    "CaptureRequest": named(everything={}, a_part=_request(forms.CaptureSerializer)),
    "RefundRequest": named(
        everything_left={"reference": "refund-8"},
        a_part=_request(forms.RefundSerializer, "reference amount reason"),
        to_an_account=_request(forms.RefundSerializer, "amount destination", reference="refund-10"),
    ),
    "CreateVirtualAccountRequest": named(
        static_account=_request(account_forms.StaticAccountSerializer, address=_ADDRESS),
        dynamic_account=_request(
            account_forms.DynamicAccountSerializer,
            "type email currency first_name last_name",
            reference="checkout",
            address=_ADDRESS,
        ),
        business_account=_request(
            account_forms.BusinessAccountSerializer,
            "type account_type email currency business_name phone_number bvn",
            reference="ada-books",
            address=_ADDRESS,
        ),
    ),
    "PayoutBatchRequest": named(
        suppliers=_request(batch_forms.PayoutBatchSerializer, "reference title payouts"),
    ),
    "ApproveRequest": named(everything={}, with_reasons=_request(batch_forms.ApproveSerializer)),
    "SavedBeneficiaryRequest": named(
        supplier=_request(
            beneficiary_forms.SavedBeneficiarySerializer, "reference name account_number bank_code"
        )
    ),
    "BeneficiaryChangeRequest": named(another_name={"name": "Kano Dye Works Limited", "note": None}),
    "WebhookEndpointRequest": named(
        warehouse=_request(endpoint_forms.WebhookEndpointSerializer, "url subscribed_events description")
    ),
    "WebhookEndpointChangeRequest": named(disabled={"enabled": False}),
    "KeyRotationRequest": named(overlap={"overlap_hours": 24}),
    "ResolveBeneficiaryRequest": named(account=_request(forms.ResolveBeneficiarySerializer)),
    "AdvanceRequest": named(
        payment=_request(forms.AdvancePaymentSerializer),
        payout_batch=_request(forms.AdvancePayoutBatchSerializer),
        event=_request(forms.AdvanceEventSerializer),
        day=_request(forms.AdvanceDaySerializer, "day"),
    ),
    "ListenerRequest": named(
        usual_events=_request(listeners.ListenerSerializer, "name"),
        two_kinds_of_events=_request(listeners.ListenerSerializer),
    ),
    "PollRequest": named(nothing={}, acknowledge=_request(listeners.PollSerializer)),
    "ResendRequest": named(nothing={}, endpoint=_request(forms.ResendSerializer)),
    "ExamRequest": named(
        endpoint={"target": "endpoint"},
        another_endpoint=_request(exam_forms.ExamSerializer, "endpoint_id", target="endpoint"),
        client=_request(exam_forms.ExamSerializer, "target listener"),
    ),
    "ExamAnswersRequest": named(
        answers=_request(exam_forms.ExamAnswersSerializer, "answers"),
        acted=_request(exam_forms.ExamAnswersSerializer, "acted"),
    ),
    "CreditUnappliedRequest": named(credit=_request(forms.CreditUnappliedSerializer)),
    "ReturnUnappliedRequest": named(
        to_the_sender=_request(forms.ReturnUnappliedSerializer, "reason"),
        to_a_destination=_request(forms.ReturnUnappliedSerializer),
    ),
    "EvidenceRequest": named(text=_request(dispute_forms.EvidenceSerializer)),
    "SubmitRequest": named(everything={}, without_a_part=_request(dispute_forms.SubmitSerializer)),
    "AcceptRequest": named(everything={}, a_part=_request(dispute_forms.AcceptSerializer)),
    "SimulateRequest": named(
        transfer=_request(forms.SimulateSerializer, "account_number amount"),
        transfer_of_a_known_sender=_request(forms.SimulateSerializer),
    ),
}

# Answers ---------------------------------------------------------------------------------------------


def _link(names: str, **changes: Any) -> Example:
    """Return a link with these of the fields that only some links have."""
    sometimes = {field.name for field in links_shown.PAYMENT_LINK.fields if not field.is_required}
    collect = {"name": "required", "email": "required", "phone": "no"}
    values: Example = {"status": "active", "collect": collect} | changes
    return links_shown.PAYMENT_LINK.example(without=sometimes - {*names.split()}, **values)


_LIMITED = "amount max_uses uses_left expires_at redirect_url"
PAYMENT_LINK = named(active=_link(_LIMITED))
_UNUSED = {"uses_paid": 0, "uses_held": 0, "amount_paid": 0}
# The answer to each request in `REQUESTS`.
CREATED_LINK = named(
    fixed_amount=_link(_LIMITED, uses_left=20, **_UNUSED),
    payer_chooses_the_amount=_link(
        "description", reference="donations", amount_range=links_shown.AMOUNT_RANGE.example(), **_UNUSED
    ),
    one_order=_link(
        "amount",
        reference="order-1042",
        customer=links_shown.LINK_CUSTOMER.example(),
        max_uses=1,
        uses_left=1,
        **_UNUSED,
    ),
)
CHECKOUT = named(paid=links_shown.CHECKOUT.example(status="paid"))
_DYNAMIC = accounts.ACCOUNT_HOLDER.example(name="Ada Obi", account_number="", reference="checkout")
ACCOUNT = named(
    static_account=accounts.VIRTUAL_ACCOUNT.example(status="active"),
    dynamic_account=accounts.VIRTUAL_ACCOUNT.example(
        without=("metadata",), status="active", reference="checkout", customer=_DYNAMIC
    ),
    business_account=accounts.VIRTUAL_ACCOUNT.example(
        without=("metadata",),
        status="active",
        reference="ada-books",
        customer=accounts.ACCOUNT_HOLDER.example(name="Ada Books Ltd", reference="ada-books"),
    ),
)
INACTIVE_ACCOUNT = named(static_account=accounts.VIRTUAL_ACCOUNT.example(status="inactive"))
_DELIVERED: Example = {
    "event": "payment.success",
    "state": "delivered",
    "next_attempt_at": None,
    "subject": events.EVENT_SUBJECT.example(type="transaction"),
}
RESENT = named(
    waiting=events.EVENT.example(
        **_DELIVERED | {"state": "waiting", "next_attempt_at": "2026-01-31T09:00:00.000Z"}
    )
)
_COPY = EVENT_COPY.example(event="payment.success", origin="event")
_ATTEMPT = events.EVENT_ATTEMPT.example(error=None, explanation=None)


_EXAM: Example = {"target": "endpoint", "state": "passed"}
EXAM_STARTED = named(
    client=exam.EXAM.example(
        target="client",
        state="running",
        finished_at=None,
        acted=None,
        results=[
            exam.EXAM_RESULT.example(
                probe="genuine", result="not_run", cause="Not sent yet.", status=None, ms=None
            )
        ],
        requests=[exam.EXAM_DELIVERY.example(probe="genuine", needs=["genuine"], manner="whole")],
    )
)

_SETTLEMENT = SETTLEMENT["released"]["value"]
_ITEMS = [
    shown.SETTLEMENT_ITEM.example(kind="payment"),
    shown.SETTLEMENT_ITEM.example(kind="refund", reference="refund-9", amount=-10_000, fee=0, net=-10_000),
]
SCENARIOS = {
    "version": VERSION,
    "data": [SCENARIO.represent(find_scenario(name)) for name in ("payment.success", "payment.mismatch")],
}

ADVANCES = named(
    payment=ADVANCED["session"]["value"],
    event=events.EVENT.example(
        event="payment.success",
        state="waiting",
        delivered_at=None,
        attempts_made=2,
        subject=_DELIVERED["subject"],
    ),
    reserve=CLOSED_DAY.example(
        batches=[_SETTLEMENT | {"reserved": 3_925}], balance=[BALANCE_OF_CURRENCY.example()]
    ),
    day=CLOSED_DAY.example(batches=[_SETTLEMENT], balance=[BALANCE_OF_CURRENCY.example()]),
)

# By the name of the answer, for all that need more than the examples of their fields.
_BY_NAME: dict[str, Example] = {
    "Payment": PAYMENT,
    "AdvancedPayment": ADVANCED,
    "Refund": REFUND,
    "Settlement": SETTLEMENT,
    "SettlementWithItems": named(
        released=_SETTLEMENT | {"items": {"data": _ITEMS, "next": None, "previous": None}}
    ),
    "UnappliedTransfer": UNAPPLIED,
    "PayoutBatch": named(
        completed=PAYOUT_BATCH.example(without=("run_at", "waits_for", "retry_of"), status="completed")
    ),
    "PayoutBatchItem": named(
        name_differs=PAYOUT_BATCH_ITEM.example(
            without=("metadata", "duplicate_of", "payout"), status="name_differs"
        )
    ),
    "WebhookEndpoint": named(enabled=endpoints_shown.WEBHOOK_ENDPOINT.example()),
    "WebhookEndpointWithKey": named(new=endpoints_shown.NEW_WEBHOOK_ENDPOINT.example()),
    "SavedBeneficiary": named(verified=beneficiaries_shown.SAVED_BENEFICIARY.example(status="verified")),
    "Dispute": DISPUTE,
    "DisputeEvidence": DISPUTE_EVIDENCE,
    "PaymentLink": PAYMENT_LINK,
    "Checkout": CHECKOUT,
    "VirtualAccount": ACCOUNT,
    "EventRecord": named(delivered=events.EVENT.example(**_DELIVERED)),
    "EventInDetail": named(delivered=events.EVENT_IN_DETAIL.example(**_DELIVERED, attempts=[_ATTEMPT])),
    "ListenerPoll": named(one_event=LISTENER_POLL.example(events=[_COPY])),
    "Exam": named(
        passed=exam.EXAM.example(
            without=("listener", "requests"),
            **_EXAM,
            results=[exam.EXAM_RESULT.example(probe="genuine", result="passed")],
        )
    ),
    "CapabilityList": named(
        capabilities=CAPABILITIES.example(
            data=[
                CAPABILITY.example(CapabilityFlow.CARD_PAYMENT),
                CAPABILITY.example(
                    CapabilityFlow.VIRTUAL_ACCOUNT_PAYMENT,
                    flow="virtual_account_payment",
                    minimum_amount=10_000,
                ),
            ]
        )
    ),
    "Movement": named(payout=MOVEMENT.example(kind="payout_accepted")),
}
# Of responses that show something else than their answer usually does.
_BY_OPERATION: dict[str, Example] = {
    "createPayment 200": PAID,
    "createPayment 201": CREATED_PAYMENT,
    "capturePayment 200": PAID,
    "voidPayment 200": VOIDED,
    "cancelPayment 200": CANCELLED,
    "createPaymentLink 200": CREATED_LINK,
    "createPaymentLink 201": CREATED_LINK,
    "deactivateVirtualAccount 200": INACTIVE_ACCOUNT,
    "creditUnappliedTransfer 200": CREDITED,
    "returnUnappliedTransfer 200": RETURNED,
    "resendEvent 202": RESENT,
    "addDisputeEvidence 201": named(text=DISPUTE_EVIDENCE["text"]["value"]),
    "addDisputeFile 201": named(file=DISPUTE_EVIDENCE["file"]["value"]),
    "submitDispute 200": named(under_review=DISPUTE["under_review"]["value"]),
    "acceptDispute 200": named(accepted=DISPUTE["accepted"]["value"]),
    "listScenarios 200": named(scenarios=SCENARIOS),
    "advanceSandbox 200": ADVANCES,
    "createExam 201": EXAM_STARTED,
}


def of_request(name: str) -> Example:
    """Return the examples of a request by the name of its component."""
    return REQUESTS.get(name) or named(nothing={})


def of_response(operation: str, status: str, body: Answer) -> Example:
    return _BY_OPERATION.get(f"{operation} {status}") or of(body)


def of(body: Answer) -> Example:
    """Return the examples of an answer, of the first and last page of a list, or of a list without pages."""
    if body.name in _BY_NAME or not isinstance(body.fields[0].type, ListOf):
        return _BY_NAME.get(body.name) or named(**{body.name.lower(): body.example()})
    item = body.fields[0].type.item
    items = [example["value"] for example in of(item).values()]
    if len(body.fields) == 1:
        return named(**{f"{item.name.lower()}s": body.example(data=items)})
    return named(a_page=body.example(data=items, next=None, previous=None))
