"""An acquirer's identifiers are stored with every answer, and sent with later orders."""

from datetime import timedelta

import pytest
from django.core.management import call_command

from payments.models import CardOperation, Transaction
from payments.rules.outcomes import PARTLY_APPROVED, Outcome
from tests import orders
from tests.scripted_acquirer import LOST, PENDING, ends, use_scripted_acquirer

pytestmark = pytest.mark.django_db

RRN = "123456789012"


@pytest.fixture
def acquirer(settings):
    return use_scripted_acquirer(settings)


def known(reference="pay_1", rrn=RRN):
    return {"acquirer_reference": reference, "retrieval_reference_number": rrn}


def pending(**identifiers):
    return ends(PENDING.outcome, **identifiers)


def pay(api, **changes):
    return api.post("/api/payments", orders.card_payment(**changes)).json()


def requery(clock):
    clock.advance(minutes=1)
    call_command("requery_pending")


class TestOfATransaction:
    def test_are_sent_with_the_query_of_a_pending_one(self, api, clock, acquirer):
        acquirer.answers("authorise", pending(**known()))
        acquirer.answers("query", ends())

        pay(api)
        requery(clock)

        [query] = acquirer.calls_of("query")
        assert (query.order.acquirer_reference, query.order.retrieval_reference_number) == ("pay_1", RRN)
        payment = Transaction.objects.get()
        assert (payment.status, payment.acquirer_reference) == ("success", "pay_1")

    def test_may_be_found_by_a_query(self, api, clock, acquirer):
        acquirer.answers("authorise", LOST)
        acquirer.answers("query", pending(**known()), ends())

        pay(api)
        requery(clock)
        requery(clock)

        assert acquirer.calls_of("query")[1].order.acquirer_reference == "pay_1"

    def test_are_sent_with_the_reversal_of_a_partial_approval(self, api, clock, acquirer):
        acquirer.answers("authorise", ends(PARTLY_APPROVED, must_be_reversed=True, **known()))
        acquirer.answers("reverse", PENDING)

        pay(api)
        requery(clock)

        [reversal] = acquirer.calls_of("reverse")
        assert reversal.order.acquirer_reference == "pay_1"
        assert Transaction.objects.get().response_code == "20013"

    def test_are_never_shown(self, api, acquirer):
        acquirer.answers("authorise", ends(**known("pay_secret"), acquirer_transaction_id="4711"))

        payment = pay(api)

        assert "pay_secret" not in str(payment)
        assert payment["retrieval_reference_number"] == RRN

    @pytest.mark.parametrize("rrn", ["", "12345", "1234567890123", "12345678901x"])
    def test_leave_our_own_reference_number_if_theirs_is_another_thing(self, api, acquirer, rrn):
        acquirer.answers("authorise", ends(acquirer_transaction_id="4711", **known(rrn=rrn)))

        payment = pay(api)

        assert payment["retrieval_reference_number"] == acquirer.calls[0].order.retrieval_reference_number


class TestOfAnOperation:
    def test_are_sent_with_its_query(self, api, clock, acquirer):
        acquirer.answers("authorise", ends(**known()))
        acquirer.answers("operate", pending(acquirer_reference="act_1"))
        acquirer.answers("query_operation", pending(), ends(acquirer_reference="act_1"))
        payment = pay(api)

        api.post(f"/api/payments/{payment['reference']}/refunds", {"reference": orders.new_reference()})
        requery(clock)
        requery(clock)

        assert acquirer.calls_of("operate")[0].order.acquirer_reference == "pay_1"
        for query in acquirer.calls_of("query_operation"):
            assert query.operation.acquirer_reference == "act_1"
        refund = CardOperation.objects.get()
        assert (refund.status, refund.acquirer_reference) == ("success", "act_1")


class TestExpiryOfAnAuthorisation:
    @pytest.mark.parametrize(("days", "kept"), [(2, 2), (30, 7), (None, 7)])
    def test_is_never_later_than_our_limit(self, api, clock, acquirer, days, kept):
        expires_at = None if days is None else clock.now + timedelta(days=days)
        acquirer.answers("authorise", ends(expires_at=expires_at))

        pay(api, capture=False)

        assert Transaction.objects.get().expires_at == clock.now + timedelta(days=kept)


class TestGatewayCode:
    @pytest.mark.parametrize("code", ["51", "Z3X", "20051", "20051XYZ"])
    def test_has_up_to_eight_characters(self, api, acquirer, code):
        outcome = Outcome("20051", "Declined - Not sufficient funds", code, "retry")
        acquirer.answers("authorise", ends(outcome))

        payment = pay(api)

        assert payment["gateway_code"] == code
        assert api.get(f"/api/payments/{payment['reference']}").json()["gateway_code"] == code

    def test_of_a_refund_too(self, api, acquirer):
        acquirer.answers("authorise", ends())
        acquirer.answers("operate", ends(Outcome("20030", "Declined - Unspecified failure", "30021X")))
        payment = pay(api)

        refund = api.post(
            f"/api/payments/{payment['reference']}/refunds", {"reference": orders.new_reference()}
        ).json()

        assert refund["gateway_code"] == "30021X"
