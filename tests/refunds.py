"""Card payments and refunds over the API."""

from typing import Any

from tests import orders


def pay(api: Any, **changes: Any) -> str:
    """Make a successful card payment and return its reference."""
    order = orders.card_payment(**changes)
    assert api.post("/api/payments", order).json()["status"] == "success"
    return str(order["reference"])


def refund(api: Any, payment: str, **order: Any) -> None:
    """Refund a payment successfully, by its reference."""
    order = {"reference": orders.new_reference("rf")} | order
    assert api.post(f"/api/payments/{payment}/refunds", order).json()["status"] == "success"


def ask_for_refund(api: Any, address: str, **request: Any) -> Any:
    """Request a refund of the payment at a URL and return the response."""
    return api.post(f"{address}/refunds", {"reference": orders.new_reference("rf")} | request)


def refunded_amounts(api: Any, address: str) -> tuple[str, int, int]:
    """Return the refund status, the refunded amount and the refundable amount of the payment at a URL."""
    payment = api.get(address).json()
    return (
        payment["refund_status"],
        payment["total_amount_refunded"],
        payment["total_amount_available_to_refund"],
    )


def assert_refunded(response: Any, expected: dict[str, Any]) -> None:
    """Check that a response shows a new, successful refund: these members, an ID and a time."""
    refund = response.json()
    assert response.status_code == 201
    created_at, identifier = refund.pop("created_at"), refund.pop("id")
    assert created_at.endswith("Z")
    assert len(identifier) == 36
    assert refund == expected | {
        "status": "success",
        "response_code": "10000",
        "response_summary": "Payment completed",
        "gateway_code": "00",
        "currency": "NGN",
    }
