"""Lists, exports and detail pages of payments and payouts."""

import csv
import io
from datetime import timedelta
from html import unescape
from uuid import uuid4

import pytest
from django.utils import timezone

from dashboard.models import Note
from dashboard.tasks import index_search
from merchants.models import AuditEntry
from payments.models import Holiday, Transaction
from payments.rules.settlement.business_days import business_day, day_after
from payments.rules.settlement.payout_days import next_payout_day
from payments.rules.words.dispute_words import Status as DisputeStatus
from tests import orders
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed, take
from tests.factories import MemberFactory
from tests.query_counts import at_most
from tests.settlement_accounts import settlement_account
from tests.settling import decide, settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint
from virtual_accounts.models import UNKNOWN_SENDER
from webhooks.models import Delivery

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

PAYMENTS, PAYOUTS = "/dashboard/payments/", "/dashboard/payouts/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 90
FORMULAS = ["=1+1", "+234", "-5", "@SUM(A1)", "\t=1"]


def found(client, address=PAYMENTS, **query):
    return [row.reference for row in client.get(address, query).context["page"].rows]


def exported(client, address, **query):
    answer = client.get(address, query)
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


class TestSearch:
    def test_finds_by_every_known_reference(self, browser, ada, now):
        customer = {"reference": "c-1", "name": "Ngozi", "email": "Ngozi@Example.com"}
        payment = captured_payment(business=ada.business, now=now, customer=customer)
        captured_payment(
            business=ada.business, now=now, source=orders.card_source(pan=orders.FRICTIONLESS_CARD)
        )
        refund = {"reference": "rf-77", "amount": "1", "step": "confirmed"}
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", refund)

        for text in (
            payment.reference,
            str(payment.pk),
            payment.retrieval_reference_number,
            payment.system_trace_audit_number,
            payment.card_last4,
            "ngozi@example.COM",
            "rf-77",
        ):
            assert found(browser, q=text) == [payment.reference], text
        assert found(browser, q="nothing like it") == []

    def test_finds_by_names_amounts_and_accounts_within_the_filters(self, browser, ada, now):
        old = captured_payment(
            business=ada.business,
            now=now - timedelta(days=9),
            amount=491_200,
            customer={"name": "Ngozi Eze", "email": "e@example.com", "reference": "c-3"},
        )
        new = captured_payment(
            business=ada.business,
            now=now,
            customer={"name": "Ngozi Obi", "email": "n@example.com", "reference": "c-2"},
        )
        payout = start(orders.payout(), business=ada.business, now=now)
        index_search()

        assert found(browser, q="ngozi") == [new.reference, old.reference]
        assert found(browser, q="ngozi eze") == [old.reference]
        assert found(browser, q="4,912.00") == [old.reference]
        assert found(browser, q="ngozi", until=(now - timedelta(days=5)).date()) == [old.reference]
        assert found(browser, q="ngozi", status="failed") == []
        assert found(browser, address=PAYOUTS, q=payout.account_number) == [payout.reference]

    def test_excludes_other_businesses(self, other_browser, ada, bisi, now):
        payment = captured_payment(business=ada.business, now=now)

        assert found(other_browser, q=payment.reference) == []
        assert found(other_browser, q=str(payment.pk)) == []

    def test_never_fails_on_bad_input(self, subtests, browser, ada):
        for query in [
            {"status": "odd"},
            {"since": "2026-02-30"},
            {"since": "0001-01-01"},
            {"until": "9999-12-31"},
            {"q": "x" * 300},
            {"q": "\x00"},
            {"before": "x"},
            {"after": "9" * 400},
            {"before": str(uuid4())},
            {"method": "bank"},
        ]:
            with subtests.test(query=query):
                for address in (
                    PAYMENTS,
                    PAYOUTS,
                    "/dashboard/webhooks/deliveries/",
                    "/dashboard/virtual-accounts/",
                    "/dashboard/payment-links/",
                ):
                    assert browser.get(address, query).status_code == 200

    def test_names_the_sender_of_a_transfer_without_a_customer(self, browser, ada, now):
        mismatched_money(business=ada.business, now=now, sender_name="Bisi Ojo")
        payment = Transaction.objects.get()

        page = browser.get(PAYMENTS).content.decode()

        assert f'href="{PAYMENTS}{payment.pk}/"><bdi>Bisi Ojo</bdi></a>' in page
        assert page.count(f">{payment.reference}<") == 1

    def test_names_the_method_alone_if_the_payer_is_unknown(self, browser, ada, now):
        mismatched_money(business=ada.business, now=now, sender_name=UNKNOWN_SENDER)
        payment = Transaction.objects.get()

        page = browser.get(PAYMENTS).content.decode()

        rows = page.partition("<tbody>")[2]
        assert f'href="{PAYMENTS}{payment.pk}/">Bank transfer</a>' in rows
        assert rows.count("Bank transfer") == 1
        assert rows.count(f">{payment.reference}<") == 1

    def test_filters_by_status_and_day(self, browser, ada, now):
        old = captured_payment(business=ada.business, now=now - timedelta(days=3))
        pending = challenged_payment(business=ada.business, now=now)

        assert found(browser, status="pending") == [pending.reference]
        between = timezone.localdate(now - timedelta(days=2), ada.business.zone)
        assert found(browser, until=between) == [old.reference]
        assert found(browser, since=between) == [pending.reference]


class TestPages:
    def test_have_no_gaps_or_repetitions(self, browser, ada, now):
        made = [
            captured_payment(business=ada.business, now=now - timedelta(seconds=number)).reference
            for number in range(60)
        ]
        address, seen, there = PAYMENTS, [], []
        while address:
            page = browser.get(address).context["page"]
            seen += [row.reference for row in page.rows]
            there.append(page)
            address = page.older and PAYMENTS + page.older

        back = browser.get(PAYMENTS + there[1].newer).context["page"]

        assert seen == made
        assert [row.reference for row in back.rows] == made[:20]

    def test_need_few_queries(self, browser, ada, now):
        make_endpoint(business=ada.business)
        for _ in range(5):
            payment = captured_payment(business=ada.business, now=now)
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": "1"})

        payouts = [start(orders.payout(), business=ada.business, now=now) for _ in range(5)]
        transfer = mismatched_money(business=ada.business, now=now).transfer.session.payment

        pages = [PAYMENTS, f"{PAYMENTS}?q=4081", PAYOUTS, f"{PAYOUTS}{payouts[0].pk}/"]
        for address in (*pages, f"{PAYMENTS}{payment.pk}/", f"{PAYMENTS}{transfer.pk}/"):
            with at_most(12):
                assert browser.get(address).status_code == 200


class TestExport:
    def test_streams_the_filtered_rows(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now, amount=50_001)
        start(orders.payout(), business=ada.business, now=now)

        (row,) = exported(browser, f"{PAYMENTS}export.csv", status="success")

        assert (row["reference"], row["amount"], row["card_last4"]) == (payment.reference, "500.01", "4081")
        assert exported(browser, f"{PAYMENTS}export.csv", status="failed") == []
        assert len(exported(browser, f"{PAYOUTS}export.csv")) == 1

    def test_names_the_settlement_of_a_payment(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)
        (batch,) = settle()
        decide(batch, "reject")
        (second,) = settle()
        captured_payment(business=ada.business, now=now)

        rows = exported(browser, f"{PAYMENTS}export.csv")

        shown = {(row["settlement_id"], row["settle_status"]) for row in rows}
        assert shown == {(str(second.pk), "pending"), ("", "")}

    @pytest.mark.parametrize("text", FORMULAS)
    def test_contains_no_formula(self, browser, ada, now, text):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(narration=text, customer_name=text)

        (row,) = exported(browser, f"{PAYMENTS}export.csv")

        assert row["narration"].startswith("'")
        assert row["customer_name"].startswith("'")


class TestUntrustedText:
    def test_is_escaped_everywhere(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(
            reference="r" * 100, customer_name=NASTY, narration=NASTY, customer_email=NASTY[:60]
        )

        for address in (PAYMENTS, f"{PAYMENTS}{payment.pk}/", f"{PAYMENTS}{payment.pk}/refund/"):
            shown = browser.get(address).content.decode()
            assert "<script>" not in shown
            assert Audit(shown).findings == []
        assert NASTY in unescape(browser.get(f"{PAYMENTS}{payment.pk}/").content.decode())


class TestTimeline:
    def test_shows_all_events_in_order(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)
        make_delivery(make_endpoint(business=ada.business))
        browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "300.00"})
        refund = {"reference": "rf-1", "amount": "100", "step": "confirmed"}
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", refund)

        titles = [each.title for each in browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].timeline]

        wanted = [
            "Payment of NGN 500.00 requested",
            "Authorised",
            "Capture requested",
            "Payment succeeded",
            "Refund requested",
            "NGN 100.00 refunded",
        ]
        assert [title for title in titles if title in wanted] == wanted

    def test_shows_what_was_booked_with_the_moment_that_booked_it(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now, amount=250_000)

        timeline = browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].timeline

        (booked,) = [each for each in timeline if each.title == "Payment succeeded"]
        assert dict(booked.lines)["Fees"].endswith("NGN 137.50")

    def test_shows_disputes_and_lists_mark_their_payments(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        dispute = disputed(payment)

        answer = browser.get(f"{PAYMENTS}{payment.pk}/")
        *_, opened, due = answer.context["detail"].timeline

        assert (opened.title, opened.text) == (
            "Chargeback of NGN 500.00 opened",
            "Reason: fraudulent.",
        )
        assert (due.title, due.at, due.is_planned) == (
            "Response to the chargeback due",
            dispute.respond_by,
            True,
        )
        assert ">Disputed<" in browser.get(PAYMENTS).content.decode()
        take(payment, status=DisputeStatus.WON)
        assert browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].timeline[-1].title == (
            "Chargeback ended: won"
        )
        assert ">Disputed<" not in browser.get(PAYMENTS).content.decode()


class TestViewer:
    def test_sees_no_actions(self, client, ada, now):
        client.force_login(MemberFactory(business=ada.business, role="viewer").user)
        payment = captured_payment(business=ada.business, now=now)

        assert "/refund/" not in client.get(f"{PAYMENTS}{payment.pk}/").content.decode()
        assert "New payout" not in client.get(PAYOUTS).content.decode()


class TestDetailPage:
    def test_sums_up_what_was_paid_and_what_remains(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now, amount=500_000)
        refund = {"reference": "rf-1", "amount": "1000.00", "step": "confirmed"}
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", refund)
        batch = settle()[0]

        detail = browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"]

        assert [(each.name, each.amount) for each in detail.figures] == [
            ("Amount", 500_000),
            ("Fee", -17_500),
            ("Refunded", -100_000),
            ("Net", 382_500),
        ]
        assert detail.batch == batch

    def test_names_the_day_of_a_later_settlement(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        day = f"With the payments of {business_day(now):%-d %b}"

        assert day in browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()
        settle()
        assert day not in browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

    def test_names_the_first_day_on_which_a_schedule_can_pay_it_out(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        tomorrow = day_after(business_day(now))
        address = f"{PAYMENTS}{payment.pk}/"
        assert "bank account from" not in browser.get(address).content.decode()
        settlement_account(ada.business)

        day = next_payout_day(tomorrow, None, Holiday.days_of("NGN", since=tomorrow))
        with at_most(12):
            page = browser.get(address).content.decode()
        assert f", to your bank account from {day:%-d %b}" in page

    def test_names_no_settlement_of_what_is_not_settled(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)

        assert browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].settles_on is None

    def test_links_every_related_object(self, browser, ada, now):
        make_endpoint(business=ada.business)
        payment = captured_payment(business=ada.business, now=now)
        batch = settle()[0]

        page = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        delivery = Delivery.objects.get(subject=payment.pk)
        for address in (
            f"/dashboard/webhooks/deliveries/{delivery.pk}/",
            f"/dashboard/settlements/{batch.pk}/",
        ):
            assert f'href="{address}"' in page, address

    def test_of_a_mismatch_leads_to_the_decision(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now)
        payment = Transaction.objects.get(method="virtual_account")

        page = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        assert "NGN 400.00 received, not applied" in page
        assert page.count(f'href="/dashboard/virtual-accounts/unapplied/{money.pk}/"') == 2
        assert f'href="/dashboard/virtual-accounts/{payment.session.account_id}/"' in page

    def test_names_a_decline_as_people_do(self, browser, ada, now):
        source = orders.card_source(pan=orders.DECLINED_CARD)
        payment = start(orders.card_payment(source=source), business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(response_summary="Declined - Not sufficient funds")

        page = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        assert "Insufficient funds" in page
        assert page.count("Declined - Not sufficient funds") == 1  # in the API object

    def test_shows_the_payers_link_only_to_roles_that_may_cancel(self, browser, client, ada, now):
        payment = challenged_payment(business=ada.business, now=now)
        address = f"{PAYMENTS}{payment.pk}/"
        client.force_login(MemberFactory(business=ada.business, role="developer").user)

        assert f"/3ds/{payment.challenge.token}" in browser.get(address).content.decode()
        assert payment.challenge.token not in client.get(address).content.decode()


class TestNotes:
    def test_are_written_audited_and_shown(self, browser, client, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        client.force_login(MemberFactory(business=ada.business, role="viewer").user)

        answer = browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": "Called <her>"}, follow=True)
        seen = client.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        assert "Note added." in answer.content.decode()
        assert "Called &lt;her&gt;" in seen
        assert "Add note" not in seen
        assert AuditEntry.objects.get(action="payment.note_added").after == {"note": "Called <her>"}

    @pytest.mark.parametrize("text", ["", "   ", "x" * 1001])
    def test_need_a_text_of_bounded_length(self, browser, ada, now, text):
        payment = captured_payment(business=ada.business, now=now)

        browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": text})

        assert not Note.objects.exists()

    def test_that_are_too_long_keep_their_text(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        answer = browser.post(
            f"{PAYMENTS}{payment.pk}/notes/", {"text": f"card {orders.GOOD_CARD} " + "x" * 1000}
        )

        page = answer.content.decode()
        assert "card 408408******4081 xxx" in page
        assert 'id="note-error"' in page

    def test_keep_digits_that_no_card_scheme_issues(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": "Called +234 803 123 0007"})

        assert Note.objects.get().text == "Called +234 803 123 0007"

    def test_count_a_line_break_as_one_character(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": "\r\n".join(["x" * 99] * 10)})

        assert len(Note.objects.get().text) == 999

    def test_are_stored_once_if_submitted_twice(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        for text in ("called", "called", "called again"):
            browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": text})

        assert [note.text for note in Note.objects.order_by("pk")] == ["called", "called again"]
        assert AuditEntry.objects.filter(action="payment.note_added").count() == 2

    def test_mask_card_numbers(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        browser.post(f"{PAYMENTS}{payment.pk}/notes/", {"text": f"card {orders.GOOD_CARD}"})

        assert Note.objects.get().text == "card 408408******4081"
        assert orders.GOOD_CARD not in str(AuditEntry.objects.get(action="payment.note_added").after)


class TestCardNumbersThatAreTyped:
    """A page shows them masked, also in a field that is wrong."""

    SPACED = "4084 0840 8408 4081"

    @pytest.mark.parametrize(
        "page",
        [
            PAYMENTS,
            PAYOUTS,
            "/dashboard/webhooks/deliveries/",
            "/dashboard/virtual-accounts/",
            "/dashboard/payment-links/",
        ],
    )
    def test_are_masked_in_filters_and_addresses(self, subtests, browser, ada, now, page):
        captured_payment(business=ada.business, now=now)
        make_delivery(make_endpoint(business=ada.business))

        for name in ["since", "amount_from", "code", "status", "method", "unknown"]:
            with subtests.test(name=name):
                shown = browser.get(page, {name: self.SPACED}).content.decode()

                assert self.SPACED not in shown
                assert self.SPACED.replace(" ", "+") not in shown

    def test_are_masked_in_a_refused_form(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        answer = browser.post(
            f"{PAYMENTS}{payment.pk}/refund/",
            {"amount": "0", "reference": "rf-1", "reason": f"card {orders.GOOD_CARD}"},
        )

        assert orders.GOOD_CARD not in answer.content.decode()
        assert "card 408408******4081" in answer.content.decode()

    def test_are_masked_in_the_address_after_resending(self, browser, ada):
        answer = browser.post("/dashboard/webhooks/deliveries/resend/", {"query": f"q={orders.GOOD_CARD}"})

        assert orders.GOOD_CARD not in answer["Location"]
