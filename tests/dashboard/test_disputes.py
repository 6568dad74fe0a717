"""Disputes in the dashboard: found by their deadline, answered with evidence, or accepted."""

import html
import re
from datetime import timedelta

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone

from dashboard.tasks import index_search
from disputes.models import AnswerSending, Dispute, DisputeFile
from disputes.services.answers.answer_files import collect
from disputes.services.reports import intake
from disputes.services.reports.report_files import account_of
from kit.time.time_ordered_ids import earliest_id
from merchants.models import Member
from payments.models import Transaction
from payments.rules.words.dispute_words import Reason, Stage, Status
from tests.dashboard.people import signed_in
from tests.disputed import AMOUNT, disputed, payment_of, take, told
from tests.factories import MemberFactory
from tests.refunds import refund
from tests.transactions import captured_payment
from tests.uploads import PNG

pytestmark = pytest.mark.django_db

LIST = "/dashboard/disputes/"


@pytest.fixture
def dispute(api):
    return disputed(payment_of(api))


def page_of(dispute, *parts):
    return "/".join([f"{LIST}{dispute.pk}", *parts, ""])


def text_of(answer):
    assert answer.status_code == 200, answer
    return html.unescape(answer.content.decode())


def file(content=PNG, name="waybill.png"):
    return SimpleUploadedFile(name, content, content_type="image/png")


def add(browser, dispute, *, follow=False, **entered):
    return browser.post(page_of(dispute), {"kind": "delivery", "add": "1", **entered}, follow=follow)


def listed(browser, query):
    """Return the disputes of all pages of the list."""
    found, address = [], f"?{query}"
    while address:
        page = browser.get(f"{LIST}{address}").context["page"]
        found, address = [*found, *page.rows], page.older
    return found


def row_of(dispute):
    return {field.attname: getattr(dispute, field.attname) for field in Dispute._meta.concrete_fields}


def viewer_of(dispute):
    return signed_in(MemberFactory(business=dispute.business, role=Member.Role.VIEWER).user)


class TestList:
    def test_lists_what_needs_a_response_by_its_deadline(self, api, browser):
        in_hours = [50, 5, None, 200]
        disputes = [
            disputed(
                payment_of(api),
                respond_by=timezone.now() + timedelta(hours=hours, minutes=1) if hours else None,
            )
            for hours in in_hours
        ]

        page = text_of(browser.get(f"{LIST}?status=needs_response"))

        shown = re.findall(rf'class="table__link" href="{LIST}([^/]+)/', page)
        assert shown == [str(disputes[place].pk) for place in (1, 0, 3, 2)]
        for text in ("5 hours left", "50 hours left", "8 days left", "No deadline"):
            assert text in page, text

    def test_lists_what_needs_a_response_first_then_the_newest(self, api, browser):
        soon, later, never = [
            disputed(payment_of(api), respond_by=hours and timezone.now() + timedelta(hours=hours))
            for hours in (5, 50, None)
        ]
        ended = [
            disputed(payment_of(api), status=status)
            for status in (Status.UNDER_REVIEW, Status.WON, Status.UNDER_REVIEW, *[Status.LOST] * 14)
        ]

        assert listed(browser, "") == [soon, later, never, *ended[::-1]]
        assert listed(browser, "reason=fraudulent") == [soon, later, never, *ended[::-1]]
        assert listed(browser, "reason=fraudulent&status=needs_response") == [soon, later, never]
        assert listed(browser, "status=lost&stage=chargeback") == ended[:2:-1]

    def test_goes_on_where_a_filter_without_index_stopped_reading(self, api, browser, monkeypatch):
        monkeypatch.setattr("dashboard.ui.lists.pagination.MOST_SCANNED", 2)
        ended = [
            disputed(payment_of(api), status=Status.LOST, reason=reason)
            for reason in (Reason.FRAUDULENT, *[Reason.DUPLICATE] * 4)
        ]
        waiting = disputed(payment_of(api))

        assert browser.get(f"{LIST}?reason=fraudulent").context["page"].is_partial
        assert listed(browser, "reason=fraudulent") == [waiting, ended[0]]

    def test_pages_lead_back(self, api, browser):
        for _ in range(8):
            disputed(payment_of(api))
            disputed(payment_of(api), status=Status.WON)
        first = browser.get(LIST).context["page"]

        second = browser.get(f"{LIST}{first.older}").context["page"]
        back = browser.get(f"{LIST}{second.newer}").context["page"]

        assert (len(second.rows), second.older) == (3, "")
        assert (back.rows, back.newer) == (first.rows, "")

    def test_begins_with_the_most_urgent(self, api, browser, dispute):
        disputed(
            payment_of(api, customer={"reference": "c", "name": "Ada " * 10, "email": "ada@example.com"})
        )

        page = text_of(browser.get(LIST))

        assert "Needs attention" in page
        assert page.count('class="button button--primary" href') == 1  # of the most urgent one
        assert page.count(f'title="{"Ada " * 10}'.strip()) == 1
        assert "Without a response by" in page
        assert 'title="Disputes that need a response">2<' in page

    def test_shows_what_waits_what_is_held_and_what_was_won(self, api, browser, dispute):
        for status in (Status.UNDER_REVIEW, Status.WON, Status.LOST, Status.WITHDRAWN):
            disputed(payment_of(api), status=status)
        disputed(payment_of(api), stage=Stage.INQUIRY)

        shown = browser.get(LIST).context["figures"]

        assert [(each.currency, each.value, each.note) for each in shown] == [
            ("NGN", "1,000.00", "2 disputes"),
            ("NGN", "1,000.00", "2 disputes"),
            ("", "66.7%", "2 of 3 that ended"),
            ("", "1,000.0", "card payments, last 30 days"),
        ]
        assert {each.change.text for each in shown} == {""}  # nothing came before
        assert "figures" not in browser.get(f"{LIST}?status=won").context

    def test_compares_its_figures_with_the_days_before(self, browser, ada):
        """One of one was won before, and none of two since. One of two payments was disputed, and now one of three."""
        for days, statuses in (
            (100, [Status.WON]),
            (40, [None, Status.LOST]),
            (1, [None, None, Status.LOST]),
        ):
            at = timezone.now() - timedelta(days=days)
            for status in statuses:
                payment = captured_payment(business=ada.business, now=at, amount=AMOUNT)
                if status is not None:
                    intake.take(told(payment, status=status), now=at)

        *_, won, rate = browser.get(LIST).context["figures"]

        assert (won.value, won.change.text, won.change.direction) == ("0.0%", "↓ 100.0 pts", "down")
        assert (rate.value, rate.change.text, rate.change.direction) == ("333.3", "↓ 166.7", "up")
        assert "delta--down" in text_of(browser.get(LIST))

    def test_finds_a_dispute_by_case_number_and_payment(self, api, browser, dispute):
        other = disputed(payment_of(api))
        for text in (dispute.case_number, dispute.transaction.reference):
            page = text_of(browser.get(LIST, {"q": text}))
            assert str(dispute.pk) in page
            assert str(other.pk) not in page

    def test_finds_disputes_by_the_name_of_the_customer(self, api, browser, dispute):
        named = disputed(
            payment_of(api, customer={"reference": "c", "name": "Uche Nnamdi", "email": "uche@shop.example"})
        )
        index_search()

        assert listed(browser, "q=nnamdi+uche") == [named]
        assert listed(browser, "q=nnamdi&status=won") == []

    def test_filters_by_the_day_to_respond_by(self, ada, api, browser):
        midnight = timezone.localtime(timezone=ada.business.zone).replace(
            hour=0, minute=0, second=0, microsecond=0
        )
        day, minute = midnight + timedelta(days=3), timedelta(minutes=1)
        last, next_day = [
            disputed(payment_of(api), respond_by=day + timedelta(days=1) + each) for each in (-minute, minute)
        ]
        for changes in ({"respond_by": None}, {"status": Status.UNDER_REVIEW}, {"status": Status.LOST}):
            disputed(payment_of(api), **{"respond_by": day} | changes)

        assert listed(browser, f"due_before={day:%Y-%m-%d}") == [last]
        assert listed(browser, f"due_before={day + timedelta(days=1):%Y-%m-%d}") == [last, next_day]
        assert listed(browser, f"due_before={day:%Y-%m-%d}&status=lost") == []
        assert "Enter a date from 2000 to 2999." in text_of(browser.get(f"{LIST}?due_before=0001-01-01"))
        assert f"Respond by {day:%-d %b}" in text_of(browser.get(f"{LIST}?due_before={day:%Y-%m-%d}"))

    def test_tabs_group_how_disputes_ended(self, api, browser):
        for status in (Status.WON, Status.WITHDRAWN, Status.LOST):
            take(payment_of(api), status=status)
        assert text_of(browser.get(f"{LIST}?status=won")).count("table__link") == 2
        assert (
            text_of(browser.get(f"{LIST}?status=lost&stage=chargeback&reason=fraudulent")).count(
                "table__link"
            )
            == 1
        )

    def test_leads_to_the_guide_while_there_is_none(self, browser):
        assert "/docs/disputes" in text_of(browser.get(LIST))

    def test_is_exported(self, browser, dispute):
        lines = b"".join(browser.get(f"{LIST}export.csv").streaming_content).decode().splitlines()
        assert dispute.case_number in lines[1]
        assert "500.00" in lines[1]


class TestPage:
    @pytest.mark.parametrize("reason", list(Reason))
    def test_says_what_convinces(self, api, browser, reason):
        dispute = disputed(payment_of(api), reason=reason)
        assert "The cardholder's bank has to see" in text_of(browser.get(page_of(dispute)))

    def test_shows_deadline_money_and_packet(self, browser, dispute):
        page = text_of(browser.get(page_of(dispute)))
        for text in ("6 days left", "You can respond once", "Receipt", "Chargeback opened", "Response due"):
            assert text in page, text
        assert dispute.transaction.reference in page

    def test_says_how_many_similar_ones_were_won_last_year(self, api, other_api, browser, now):
        for changes in (
            {"status": Status.WON}, {"status": Status.WITHDRAWN}, {"status": Status.LOST},
            {"status": Status.UNDER_REVIEW}, {"status": Status.WON, "reason": Reason.DUPLICATE},
            {"status": Status.WON, "stage": Stage.INQUIRY},
        ):  # fmt: skip
            disputed(payment_of(api), **changes)
        disputed(payment_of(other_api), status=Status.WON)
        long_ago = earliest_id(now - timedelta(days=366))
        dispute = disputed(payment_of(api))
        Dispute.objects.bulk_create(
            [Dispute(**{**row_of(disputed(payment_of(api))), "id": long_ago, "case_number": "CB-0"}
                     | {"status": Status.WON, "resolved_at": now, "outcome_amount": 1})]
        )  # fmt: skip

        page = text_of(browser.get(page_of(dispute)))

        assert re.search(r"Similar, won</dt>\s*<dd[^>]*>2 of 3</dd>\s*<dd[^>]*>Fraudulent, last year", page)

    @pytest.mark.parametrize(
        ("stage", "said"),
        [(Stage.CHARGEBACK, "Then pre-arbitration"), (Stage.ARBITRATION, "The last one")],
    )
    def test_says_which_stage_may_follow(self, api, browser, stage, said):
        assert said in text_of(browser.get(page_of(disputed(payment_of(api), stage=stage))))

    def test_compares_with_no_others_while_none_ended(self, browser, dispute):
        assert "Similar, won" not in text_of(browser.get(page_of(dispute)))

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"status": Status.WON}, "You got NGN 500.00 back."),
            ({"status": Status.WON, "outcome_amount": 20_000}, "The cardholder keeps NGN 300.00."),
            ({"status": Status.LOST}, "The cardholder got NGN 500.00."),
            ({"status": Status.WITHDRAWN}, "The dispute was withdrawn"),
            ({"status": Status.UNDER_REVIEW}, "NGN 500.00 stays held until then."),
            ({"stage": Stage.INQUIRY}, "a question of the cardholder's bank"),
            ({"stage": Stage.INQUIRY, "status": Status.WON}, "This inquiry has ended"),
        ],
    )
    def test_says_how_it_stands(self, api, browser, changes, said):
        dispute = disputed(payment_of(api), **changes)
        assert said in text_of(browser.get(page_of(dispute)))

    def test_says_why_less_than_the_disputed_amount_was_left(self, api, browser):
        refunded, disputed_twice = payment_of(api), payment_of(api)
        refund(api, refunded.reference)
        disputed(disputed_twice)
        of_refund, of_dispute = (
            "You had refunded this payment already",
            "Other disputes are about this payment too",
        )
        for payment, said, other in (
            (refunded, of_refund, of_dispute),
            (disputed_twice, of_dispute, of_refund),
        ):
            page = text_of(browser.get(page_of(disputed(payment, case_number=f"CB-{payment.pk.hex[-4:]}"))))
            assert said in page
            assert other not in page

    def test_says_that_the_bank_decides_once_the_answer_was_sent(self, browser, dispute):
        browser.post(page_of(dispute, "submit"), {})
        page = text_of(browser.get(page_of(dispute)))
        assert "Your answer is being sent" in page
        assert "bank is deciding" not in page
        assert "NGN 500.00 stays held until then." in page

        collect(account_of(""), now=timezone.now())

        page = text_of(browser.get(page_of(dispute)))
        assert "Your answer is being sent" not in page
        assert "The cardholder's bank is deciding" in page

    def test_says_so_of_an_answer_that_is_sent_by_calls(self, api, browser):
        dispute, now = disputed(payment_of(api), status=Status.UNDER_REVIEW), timezone.now()
        sending = AnswerSending.objects.create(dispute=dispute, next_at=now, created_at=now)
        assert "Your answer is being sent" in text_of(browser.get(page_of(dispute)))

        AnswerSending.objects.filter(pk=sending.pk).update(
            next_at=None, sent_at=now, ended_at=now, result=AnswerSending.Result.DELIVERED
        )

        assert "bank is deciding" in text_of(browser.get(page_of(dispute)))

    def test_is_linked_with_its_payment(self, browser, dispute):
        payment = text_of(browser.get(f"/dashboard/payments/{dispute.transaction_id}/"))
        assert page_of(dispute) in payment
        assert "Held, or lost to the cardholder" in payment

    def test_links_its_customer(self, api, browser):
        customer = {"reference": "cus-7", "name": "Ada Obi", "email": "ada@shop.example"}
        dispute = disputed(payment_of(api, customer=customer))

        def links(query):
            address = f'href="/dashboard/payments/customer/?{query}"'
            return text_of(browser.get(page_of(dispute), {"leave_out": "receipt"})).count(address)

        assert links("reference=cus-7") == 2  # in the sentence, and among related objects
        Transaction.objects.update(customer_reference="")
        assert links("email=ada%40shop.example") == 2

    def test_of_another_business_is_missing(self, other_browser, dispute):
        assert other_browser.get(page_of(dispute)).status_code == 404
        assert other_browser.post(page_of(dispute), {"kind": "other", "text": "mine"}).status_code == 404

    def test_viewers_read_and_cannot_answer(self, dispute):
        viewer = viewer_of(dispute)
        page = text_of(viewer.get(page_of(dispute)))
        assert "Only owners and finance may answer or accept disputes." in page
        assert "Accept dispute" not in page
        assert viewer.post(page_of(dispute), {"kind": "other", "text": "mine"}).status_code == 403
        assert viewer.get(page_of(dispute, "submit")).status_code == 403


class TestEvidence:
    def test_is_added_shown_downloaded_and_removed(self, browser, dispute):
        assert add(browser, dispute, text="Signed for by Ada.", file=file()).status_code == 302
        of_text, of_file = dispute.evidence.order_by("name")
        page = text_of(browser.get(page_of(dispute)))
        assert "Signed for by Ada." in page
        assert "1 of 10 files" in page

        download = browser.get(page_of(dispute, "files", str(of_file.pk)))
        assert download.content == PNG
        assert download["Content-Disposition"].startswith("attachment")
        assert download["X-Content-Type-Options"] == "nosniff"

        browser.post(page_of(dispute), {"remove": str(of_file.pk)})
        assert list(dispute.evidence.all()) == [of_text]
        assert not DisputeFile.objects.exists()

    @pytest.mark.parametrize(
        ("entered", "said"),
        [
            ({}, "Write a text, or choose a file."),
            ({"kind": "rumour", "text": "x"}, "Select a valid choice"),
            ({"kind": "", "text": "x"}, "Choose what the text or file shows."),
            ({"text": "x" * 3_001}, "at most 3000 characters"),
            ({"file": (b"<svg/>", "photo.png")}, "Choose a PDF, a PNG or a JPEG."),
            ({"file": (b"", "empty.png")}, "The submitted file is empty."),
            ({"file": (PNG + b"0" * 4 * 1024 * 1024, "large.png")}, "at most 4 MiB"),
        ],
    )
    def test_is_refused_with_a_reason(self, browser, dispute, entered, said):
        if "file" in entered:
            entered = {"file": file(*entered["file"])}
        assert said in text_of(add(browser, dispute, **entered))
        assert not dispute.evidence.exists()

    def test_names_who_added_it(self, ada_member, api, browser, dispute):
        person = ada_member.user.get_username()
        add(browser, dispute, file=file())
        api.post(f"/api/disputes/{dispute.pk}/evidence", {"kind": "delivery", "text": "Signed."})

        page = browser.get(page_of(dispute))

        key = api.credentials.api_key
        assert {each.actor for each in dispute.evidence.all()} == {person, key}
        for actor in (person, key):
            assert f"added by <bdi>{actor}</bdi>" in text_of(page)
        added = [each.text for each in page.context["detail"].timeline if "added" in each.title]
        assert added == [f"waybill.png. By {person}.", f"By {key}."]

    def test_continues_at_the_evidence(self, browser, dispute):
        assert 'action="#evidence"' in text_of(browser.get(page_of(dispute)))

    def test_form_keeps_the_ticks_of_the_packet(self, browser, dispute):
        answer = add(browser, dispute, text="Signed.", offered=["payment", "receipt"], packet=["payment"])
        assert answer["Location"] == f"{page_of(dispute)}?leave_out=receipt"
        page = text_of(browser.get(answer["Location"]))
        assert re.search(r'value="payment" checked', page)
        assert not re.search(r'value="receipt" checked', page)

    def test_is_not_added_to_a_dispute_that_ended(self, browser, dispute):
        take(dispute.transaction, status=Status.LOST)
        assert "awaits no answer" in text_of(add(browser, dispute, text="Late", follow=True))


class TestSubmit:
    def test_sends_what_was_reviewed(self, browser, dispute):
        review = browser.post(
            page_of(dispute),
            {
                "kind": "delivery",
                "text": "Signed.",
                "review": "1",
                "offered": ["payment", "receipt"],
                "packet": "payment",
            },
        )
        # Not at the evidence, where the form posts to: the top says what is submitted, and then that it was.
        assert review["Location"] == f"{page_of(dispute, 'submit')}?leave_out=receipt#top"
        page = text_of(browser.get(review["Location"]))
        for text in ("Signed.", "Not sent: Receipt."):
            assert text in page, text

        answer = browser.post(page_of(dispute, "submit"), {"leave_out": "receipt"}, follow=True)

        assert "Your response was submitted" in text_of(answer)
        dispute.refresh_from_db()
        assert dispute.status == Status.UNDER_REVIEW
        assert dispute.answer == {"submit": {"leave_out": ["receipt"]}}
        again = browser.post(page_of(dispute, "submit"), {"leave_out": "payment"}, follow=True)
        assert "awaits no answer" in text_of(again)

    def test_needs_recent_reauthentication(self, ada_member, dispute):
        answer = signed_in(ada_member.user, fresh=False).post(page_of(dispute, "submit"))
        assert "submit the answer to a dispute" in text_of(answer)
        dispute.refresh_from_db()
        assert dispute.status == Status.NEEDS_RESPONSE


class TestAccept:
    def test_concedes_a_part_after_a_review(self, browser, dispute):
        review = text_of(browser.post(page_of(dispute, "accept"), {"amount": "200"}))
        assert "Accept NGN 200.00?" in review
        assert Dispute.objects.get().status == Status.NEEDS_RESPONSE

        answer = browser.post(
            page_of(dispute, "accept"), {"amount": "200.00", "step": "confirmed"}, follow=True
        )

        page = text_of(answer)
        for text in ("The cardholder got NGN 200.00.", "You got NGN 300.00 back."):
            assert text in page, text

    def test_refuses_more_than_is_disputed(self, browser, dispute):
        page = text_of(browser.post(page_of(dispute, "accept"), {"amount": "501"}))
        assert "You can accept up to NGN 500.00." in page

    def test_is_not_offered_for_an_inquiry(self, api, browser):
        dispute = disputed(payment_of(api), stage=Stage.INQUIRY)
        assert "Accept dispute" not in text_of(browser.get(page_of(dispute)))
        assert "no longer awaits" in text_of(browser.get(page_of(dispute, "accept")))


def test_balance_shows_what_is_disputed(browser, dispute):
    page = text_of(browser.get("/dashboard/balance/"))
    assert "Held for disputes" in page
