"""The global search: what is found, how soon, and what is not."""

from datetime import timedelta

import pytest
from django.core.management import call_command
from django.utils import timezone

from dashboard.models import SearchPosition, SearchTerm
from dashboard.search import indexer, results
from dashboard.tasks import index_search
from payments.models import CardOperation, SettlementBatch, Transaction
from payments.services.refunds import refunds
from tests import orders
from tests.links import begin, make_link, pay_by_card
from tests.query_counts import at_most
from tests.settling import settle
from tests.transactions import authorised_payment, captured_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_endpoint
from virtual_accounts.models import VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

PAYMENTS = "/dashboard/payments/"
CUSTOMER = {"reference": "CUST-77", "name": "Adaézé Grace Chukwu", "email": "adaeze@Example.com"}


@pytest.fixture
def business(ada):
    return ada.business


@pytest.fixture
def payment(business, now):
    return captured_payment(
        business=business,
        now=now,
        reference="ORD-10482",
        amount=491_200,
        customer=CUSTOMER,
        metadata={"order": "1042", "note": "a=b"},
    )


def found(business, text, group="Payments"):
    index_search()
    return [
        hit.row.pk
        for each in results.search(business, text).groups
        if each.name == group
        for hit in each.hits
    ]


class TestPaymentLinks:
    @pytest.mark.parametrize(
        "text",
        ["workshop-may", "bookb", "https://pay.example/l/{slug}", "pay.example/l/{SLUG}/", "{link_id}"],
    )
    def test_are_found_at_once(self, api, business, text):
        link = make_link(api, reference="workshop-may", title="Bookbinding workshop")
        make_link(api, title="Evening class")
        text = text.format(slug=link.slug, SLUG=link.slug.upper(), link_id=link.pk)

        assert found(business, text, "Payment links") == [link.pk]

    @pytest.mark.parametrize(
        "text", ["ÉCOLE", "école", "ecole d'ete", "Ecole\u00a0d\u2019été.", "école dete. l"]
    )
    def test_are_found_by_a_title_in_any_case_and_without_marks(self, api, business, text):
        link = make_link(api, title="École d\u2019Été. Łódź *")
        make_link(api, title="Ecoles")

        assert link.pk in found(business, text, "Payment links")

    @pytest.mark.parametrize("text", ["ecole.", "lodz", "'", "cole", "École d\u2019Été. Łódź **", "^", ".*"])
    def test_are_not_found_by_another_title(self, api, business, text):
        make_link(api, title="École d\u2019Été. Łódź *")

        assert found(business, text, "Payment links") == []

    def test_of_others_are_not_found(self, api, bisi):
        link = make_link(api)

        for text in (link.reference, link.url, link.title, str(link.pk)):
            assert found(bisi.business, text, "Payment links") == []

    def test_lead_to_payments_by_the_payers_email_address(self, api, business):
        payment = pay_by_card(begin(make_link(api), email="Payer@Example.com"))

        assert found(business, "payer@example.com") == [payment.pk]


def new_account(business, *, now, **changes):
    wanted = read_account(orders.dynamic_account(**changes), business=business)
    return accounts.create(business=business, request=wanted, now=now).resource


class TestPayments:
    @pytest.mark.parametrize(
        "text",
        [
            "ORD-10482",
            "ord-10",
            "\u202aORD\u201110482\u202c",
            "cust-77",
            "ADAEZE@example.com",
            "adaeze@exam",
            "Adaeze",
            "adaézé",
            "chuk",
            "grace",
            "adaeze grace",
            "Adaeze Chukwu",
            "4912",
            "4,912.00",
            "NGN 4,912.00",
            "₦4,912",
            "4081",
            "order=1042",
            "note=a=b",
            "4081 4,912",
            "4912 4081",
            "NGN 4,912.00 adaeze",
            "adaeze chukwu 4912",
            "ord-10 ₦4,912",
        ],
    )
    def test_are_found_by(self, business, payment, text):
        assert found(business, text) == [payment.pk]

    @pytest.mark.parametrize("value", ["A  17", "A\u00a017", "A\u201117", "one\ttwo"])
    def test_are_found_by_metadata_with_any_blanks_and_hyphens(self, business, now, value):
        """They are kept as sent, so that only the same pair is found."""
        paid = captured_payment(business=business, now=now, metadata={"shelf": value})

        assert found(business, f"shelf={value}") == [paid.pk]

    def test_are_found_by_codes_of_the_rail_and_by_id(self, business, payment):
        payment.refresh_from_db()
        for text in (
            payment.retrieval_reference_number,
            payment.system_trace_audit_number,
            payment.authorization_code,
            str(payment.pk),
        ):
            assert found(business, text) == [payment.pk], text

    def test_are_not_found_by(self, subtests, business, payment):
        for text in [
            "zzz",
            "RD-10482",
            "491",
            "USD 4,912.00",
            "order=104",
            "",
            "  ",
            "\x00",
            "4081 4,913",
            "5408 4912",
            "adaeze USD 4912",
        ]:
            with subtests.test(text=text):
                assert found(business, text) == []

    def test_with_an_amount_are_also_found_in_lists(self, browser, payment):
        index_search()

        assert payment.reference in browser.get(PAYMENTS, {"q": "4081 4,912"}).content.decode()
        assert payment.reference not in browser.get(PAYMENTS, {"q": "4081 4,913"}).content.decode()

    def test_with_an_amount_are_no_virtual_accounts(self, browser, payment):
        assert browser.get("/dashboard/virtual-accounts/", {"q": "4081 4,912"}).status_code == 200

    def test_of_other_businesses_are_not_found(self, bisi, payment):
        for text in ("ORD-10482", "Adaeze", "4912", "4081 4912", str(payment.pk)):
            assert found(bisi.business, text) == []

    def test_are_found_by_sender_and_account_of_the_transfer(self, business, now):
        money = mismatched_money(business=business, now=now)
        payment = Transaction.objects.get(method="virtual_account")

        assert found(business, "ojo") == [payment.pk]
        assert found(business, payment.session.number_id) == [payment.pk]
        assert found(business, "ojo", "Unapplied transfers") == [money.pk]
        assert found(business, money.transfer.bank_reference, "Unapplied transfers") == [money.pk]

    @pytest.mark.parametrize(
        ("name", "texts"),
        [
            ("Łukasz Ɗanjuma", ["Lukasz", "danjuma", "DANJUMA łuk", "Ɗanjuma lukasz"]),
            ("NGŨGĨ wa Thiong\u2019o", ["thiong'o", "Thiongo ngugi", "ngugi thiong\u02bco wa", "wa thiongo"]),
            ("OBI ADA GRACE", ["ada obi", "Grace Ada Obi", "ada grace ob", "obi grace", "grace obi ad"]),
            ("Ada Ada", ["ada ada"]),
            (
                "Lagos State Water Corporation",
                ["lagos state wat", "water corporation lagos state", "corporation lagos"],
            ),
            ("Øyvind Straße-Þór Æsir", ["oyvind", "strasse", "thor ae", "aesir thor oyvind stras"]),
        ],
    )
    def test_are_found_by_names_as_people_type_them(self, business, now, name, texts):
        customer = {"name": name, "email": "a@example.com", "reference": "c"}
        payment = captured_payment(business=business, now=now, customer=customer)
        captured_payment(business=business, now=now, customer=customer | {"name": "Bisi Ojo"})

        for text in texts:
            assert found(business, text) == [payment.pk], text

    def test_show_the_newest_of_many(self, business, now):
        made = [
            captured_payment(business=business, now=now + timedelta(seconds=place), customer=CUSTOMER).pk
            for place in range(10)
        ]

        assert found(business, "Adaeze") == made[: -results.SHOWN - 1 : -1]

    def test_are_found_by_the_amount_received_instead(self, browser, business, now):
        mismatched_money(business=business, now=now, amount=49_900)
        payment = Transaction.objects.get(method="virtual_account")

        for text in ("NGN 499.00", "499", "NGN 500.00"):
            assert found(business, text) == [payment.pk], text
        assert payment.reference in browser.get(PAYMENTS, {"q": "NGN 499.00"}).content.decode()

    def test_say_how_many_there_are(self, browser, business, now, monkeypatch):
        for place in range(9):
            captured_payment(business=business, now=now + timedelta(seconds=place), customer=CUSTOMER)
        index_search()

        shown = browser.get("/dashboard/search/", {"q": "Adaeze"}).content.decode()
        monkeypatch.setattr("dashboard.search.results.MOST_COUNTED", 8)
        counted = browser.get("/dashboard/search/", {"q": "Adaeze"}).content.decode()

        assert ">6 of 9</span></h2>" in shown
        assert 'href="/dashboard/payments/?q=Adaeze">Show all in payments</a>' in shown
        assert ">6 of 8+</span></h2>" in counted

    def test_that_are_all_shown_lead_to_the_list(self, browser, payment):
        index_search()

        shown = browser.get("/dashboard/search/", {"q": "Adaeze"}).content.decode()

        assert 'href="/dashboard/payments/?q=Adaeze">Search in payments</a>' in shown

    def test_that_are_card_checks_lead_to_card_checks(self, browser, business, now):
        for _ in range(7):
            start(orders.card_check(), business=business, now=now)
        index_search()

        shown = browser.get("/dashboard/search/", {"q": "4081"}).content.decode()

        address = "/dashboard/payments/?q=4081&amp;request_type=card_check"
        assert ">6 of 7</span></h2>" in shown
        assert f'href="{address}">Show all in card checks</a>' in shown

    def test_with_a_frequent_prefix_show_the_newest(self, business, now, monkeypatch):
        monkeypatch.setattr("dashboard.search.queries.MOST_TERMS", 3)
        made = [
            captured_payment(
                business=business, now=now + timedelta(seconds=place), reference=f"ORD-{9 - place}"
            ).pk
            for place in range(10)
        ]
        index_search()

        shown = results.search(business, "ord")

        assert shown.is_partial
        assert [hit.row.pk for hit in shown.groups[0].hits] == made[: -results.SHOWN - 1 : -1]


class TestOtherObjects:
    def test_payouts_by_beneficiary_and_account(self, business, now):
        order = orders.payout(reference="pay-1")
        payout = start(order, business=business, now=now)

        assert found(business, order["customer"]["account_number"], "Payouts") == [payout.pk]
        assert found(business, order["customer"]["name"].split()[-1], "Payouts") == [payout.pk]

    def test_refunds_by_reference_and_amount(self, business, payment, now):
        refunds.refund(transaction=payment, request={"reference": "RF-1", "amount": 1_500}, now=now)
        refund = CardOperation.objects.get(kind="refund")

        assert found(business, "rf-1", "Refunds") == [refund.pk]
        assert found(business, "15.00", "Refunds") == [refund.pk]

    def test_virtual_accounts_by_email(self, business, now):
        mismatched_money(business=business, now=now)
        account = VirtualAccount.objects.get()

        assert found(business, account.email, "Virtual accounts") == [account.pk]

    def test_batches_by_day_net_and_id(self, business, payment):
        settle()
        index_search()
        batch = SettlementBatch.objects.get(business=business)

        for text in (batch.day.isoformat(), f"{batch.net / 100:.2f}", str(batch.pk)):
            assert found(business, text, "Settlements") == [batch.pk], text

    def test_deliveries_by_event_id_and_subject(self, business, now):
        make_endpoint(business=business)
        payment = captured_payment(business=business, now=now)
        delivery = Delivery.objects.get(subject=payment.pk)

        assert found(business, str(delivery.pk), "Deliveries") == [delivery.pk]
        assert found(business, str(payment.pk), "Deliveries") == [delivery.pk]
        assert found(business, payment.reference, "Deliveries") == [delivery.pk]
        assert found(business, payment.reference[:-1], "Deliveries") == []


class TestCardNumbers:
    def test_never_become_terms(self, business, now):
        number = orders.DECLINED_CARD
        captured_payment(business=business, now=now, metadata={"note": number}, reference=f"card-{number}")
        index_search()

        stored = b"".join(bytes(term) for term in SearchTerm.objects.values_list("term", flat=True))
        assert number.encode() not in stored
        assert number[:10].encode() not in stored

    def test_do_not_find_the_name_that_holds_them(self, business, now):
        customer = CUSTOMER | {"name": f"Ada {orders.DECLINED_CARD}"}
        captured_payment(business=business, now=now, customer=customer)

        assert found(business, orders.DECLINED_CARD) == []


class TestIndexer:
    def test_repeats_nothing_and_resumes(self, business, payment):
        index_search()
        before = SearchTerm.objects.count()

        index_search()

        assert SearchTerm.objects.count() == before

    def test_finds_a_row_that_is_committed_behind_newer_ones(self, business, now):
        new_account(business, now=now, reference="NEWER-1")
        index_search()

        late = new_account(business, now=now - timedelta(milliseconds=500), reference="LATE-1")

        assert found(business, "LATE-1", "Virtual accounts") == [late.pk]

    def test_reads_everything_again_an_hour_later(self, business, now):
        long_ago = now - timedelta(hours=2)
        old = captured_payment(business=business, now=long_ago, reference="OLD-1")

        index_search()

        assert found(business, "OLD-1") == [old.pk]
        assert SearchPosition.objects.get(pk="transactions, again 2").resume_after == str(old.pk)

    def test_reads_everything_again_when_a_release_changes_terms(self, business, now, monkeypatch):
        old = captured_payment(business=business, now=now - timedelta(hours=2), reference="OLD-1")
        monkeypatch.setattr(indexer, "TERMS_EDITION", indexer.TERMS_EDITION - 1)
        index_search()
        SearchTerm.objects.all().delete()
        assert found(business, "OLD-1") == []

        monkeypatch.undo()

        assert found(business, "OLD-1") == [old.pk]

    def test_indexes_the_code_of_a_later_authorisation(self, business, now):
        payment = authorised_payment(business=business, now=now, reference="AUTH-1")
        Transaction.objects.filter(pk=payment.pk).update(authorization_code="")
        index_search()
        Transaction.objects.filter(pk=payment.pk).update(authorization_code="Q7X2K1")
        SearchTerm.objects.all().delete()
        SearchPosition.objects.filter(pk="transactions").update(resume_after=str(payment.pk))
        SearchPosition.objects.filter(pk="transitions").update(resume_after="0")

        assert found(business, "q7x2k1") == [payment.pk]

    def test_reports_its_lag(self, business, now):
        index_search()
        payment = captured_payment(business=business, now=now - timedelta(seconds=40), reference="LAG-1")
        SearchPosition.objects.filter(pk="transactions").update(read_up_to="0" * 32)

        assert timedelta(seconds=39) < indexer.lag(now=timezone.now()) < timedelta(seconds=60)

        SearchPosition.objects.filter(pk="transactions").update(read_up_to=str(payment.pk))
        SearchPosition.objects.filter(pk="transitions").update(read_up_to=str(10**9))
        assert indexer.lag(now=timezone.now()) == timedelta(0)

    def test_reads_in_batches(self, business, now, monkeypatch):
        monkeypatch.setattr(indexer, "BATCH", 2)
        made = [captured_payment(business=business, now=now, reference=f"B-{place}").pk for place in range(5)]

        index_search()

        assert {found(business, f"B-{place}")[0] for place in range(5)} == set(made)


class TestRebuild:
    def test_writes_all_terms_again(self, business, payment, capsys):
        index_search()
        before = set(SearchTerm.objects.values_list("term", "object_id"))
        SearchTerm.objects.all().delete()

        call_command("rebuild_search", "--business", business.name, "--clear", "--json")

        assert set(SearchTerm.objects.values_list("term", "object_id")) == before
        assert '"rows_read": ' in capsys.readouterr().out

    def test_clears_only_the_chosen_business(self, business, bisi, payment, now):
        captured_payment(business=bisi.business, now=now)
        index_search()
        others = SearchTerm.objects.filter(business=bisi.business).count()

        for _ in indexer.clear(business=business):
            pass

        assert SearchTerm.objects.count() == others > 0


class TestPage:
    def test_groups_matches_and_links_them(self, browser, payment):
        index_search()

        page = browser.get("/dashboard/search/?q=adaeze").content.decode()

        assert f"/dashboard/payments/{payment.pk}/" in page
        assert "NGN 4,912.00" in page

    def test_says_when_nothing_matches(self, browser, payment):
        assert "No results" in browser.get("/dashboard/search/?q=nothing").content.decode()

    def test_shows_nothing_of_other_businesses(self, other_browser, payment):
        index_search()

        assert str(payment.pk) not in other_browser.get("/dashboard/search/?q=adaeze").content.decode()


def test_prefixes_use_one_statement(business, payment):
    index_search()

    with at_most(3):  # the terms, the payment, payment links
        results.search(business, "adaeze")
