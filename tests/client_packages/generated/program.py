"""A merchant's program on the Python client that openapi-python-client generates: prints what it saw as JSON.

SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY say whose sandbox it is.
"""

import json
import os
import secrets
from urllib.parse import parse_qs, urlsplit

from sign_httpx import SluiceAuth
from sluice_generated.api.payments import create_payment, list_payments
from sluice_generated.api.refunds import create_refund
from sluice_generated.client import AuthenticatedClient
from sluice_generated.models.card_payment_request import CardPaymentRequest
from sluice_generated.models.card_payment_request_payment_method import CardPaymentRequestPaymentMethod
from sluice_generated.models.card_payment_request_request_type import CardPaymentRequestRequestType
from sluice_generated.models.duplicate_reference import DuplicateReference
from sluice_generated.models.payment import Payment
from sluice_generated.models.payment_list import PaymentList
from sluice_generated.models.problem import Problem
from sluice_generated.models.refund_request import RefundRequest
from sluice_generated.models.source_request import SourceRequest
from sluice_generated.models.source_request_type import SourceRequestType

auth = SluiceAuth(os.environ["SLUICE_API_KEY"], os.environ["SLUICE_SECRET_KEY"])
client = AuthenticatedClient(os.environ["SLUICE_BASE_URL"], token="unused", httpx_args={"auth": auth})


def order(*, reference: str, amount: int = 250_000) -> CardPaymentRequest:
    return CardPaymentRequest(
        request_type=CardPaymentRequestRequestType.PAYMENT,
        payment_method=CardPaymentRequestPaymentMethod.CARD,
        reference=reference,
        amount=amount,
        currency="NGN",
        redirect_url="https://shop.example/done",
        source=SourceRequest(
            type_=SourceRequestType.CARD,
            pan="4084084084084081",
            name="Ada Obi",
            expiry_month="12",
            expiry_year="2035",
            cvv="408",
        ),
    )


def main() -> None:
    reference = f"generated-{secrets.token_hex(6)}"
    declined = f"{reference}-declined"

    paid = create_payment.sync(client=client, body=order(reference=reference))
    assert isinstance(paid, Payment)
    refused = create_payment.sync(client=client, body=order(reference=declined, amount=10_051))
    assert isinstance(refused, Payment)
    invalid = create_payment.sync(client=client, body=order(reference=f"{reference}-0", amount=0))
    assert isinstance(invalid, Problem)
    assert invalid.errors
    duplicate = create_payment.sync(client=client, body=order(reference=reference, amount=1))
    assert isinstance(duplicate, DuplicateReference)
    conflict = create_refund.sync(
        declined, client=client, body=RefundRequest(reference=f"{reference}-refund")
    )
    assert isinstance(conflict, Problem)

    first = list_payments.sync(client=client, limit=1)
    assert isinstance(first, PaymentList)
    assert first.next_
    cursor = parse_qs(urlsplit(first.next_).query)["cursor"][0]
    second = list_payments.sync(client=client, limit=1, cursor=cursor)
    assert isinstance(second, PaymentList)

    seen = {
        "payment": [paid.status.value, paid.response_code],
        "decline": [refused.status.value, refused.response_code],
        "fields": [error.field for error in invalid.errors],
        "duplicate": [duplicate.code.value, duplicate.existing.status.value],
        "conflict": [conflict.status, conflict.code],
        "pages": [each.reference.removeprefix(reference) for page in (first, second) for each in page.data],
    }
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
