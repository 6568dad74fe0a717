"""The counts of payment links, set wrong and recounted from their payments."""

import io
import json

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone

from merchants.people.audit import Actor
from payments.models import PaymentLink
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from payments.services.links import link_recounts, links
from tests.links import make_link

pytestmark = pytest.mark.django_db


def pay_by_transfer(link, *, network):
    details = Details(
        amount=link.amount, quantity=1, method="virtual_account", name="Ada", email="ada@x.example"
    )
    now = timezone.now()
    checkout = checkouts.begin(link=link, details=details, address=network, network=network, now=now)
    return checkouts.pay_by_transfer(checkout=checkout, attempt_number=0, now=now)


def counts(link):
    link.refresh_from_db()
    return link.uses_held, link.uses_paid, link.amount_paid


def recount(*options):
    out = io.StringIO()
    call_command("recount_links", *options, stdout=out)
    return out.getvalue()


class TestRecount:
    def test_repairs_a_wrong_number(self, api, other_api):
        link, other, foreign = make_link(api, max_uses=20), make_link(api), make_link(other_api)
        paid, _ = [pay_by_transfer(link, network=f"192.0.2.{turn}") for turn in range(2)]
        arrived = {"account_number": paid.session.number_id, "amount": paid.amount}
        api.post("/api/virtual-accounts/simulate", arrived)
        PaymentLink.objects.update(uses_held=5, uses_paid=-1, amount_paid=7)

        assert "2 links would be recounted." in recount("--dry-run", "--business", str(link.business_id))
        assert counts(link) == (5, -1, 7)
        said = recount("--business", str(link.business_id))

        assert f"{link.reference}: held 5 -> 1, paid -1 -> 1, NGN 0.07 -> NGN 15,000.00" in said
        assert [counts(each) for each in (link, other, foreign)] == [(1, 1, 1_500_000), (0, 0, 0), (5, -1, 7)]
        assert [json.loads(line)["reference"] for line in recount("--json").splitlines()] == [
            foreign.reference
        ]
        assert recount() == "0 links recounted.\n"

    def test_needs_a_higher_limit_for_more_payments_than_it(self, api):
        """The database refuses the true numbers. Other links are recounted all the same."""
        link, other = make_link(api, max_uses=1), make_link(api)
        pay_by_transfer(link, network="192.0.2.1")
        PaymentLink.objects.update(uses_held=0)
        pay_by_transfer(link, network="192.0.2.2")
        PaymentLink.objects.filter(pk=other.pk).update(uses_held=3)

        with pytest.raises(CommandError, match="1 link not changed: more payments than `max_uses`"):
            recount()

        assert (counts(link)[0], counts(other)[0]) == (1, 0)
        merchant = Actor(name="Ada", address="192.0.2.1")
        links.change(link_id=link.pk, changes={"max_uses": 2}, actor=merchant, now=timezone.now())
        assert [found.is_over_limit for found in link_recounts.recount()] == [False]
        assert counts(link)[0] == 2
