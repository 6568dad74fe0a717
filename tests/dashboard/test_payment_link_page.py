"""The page of a payment link: sharing, funnel, checkouts with their export, and ending a transfer attempt."""

import csv
import io
import re
from datetime import UTC, timedelta
from html import unescape

import pytest
from django.conf import settings

from merchants.models import AuditEntry
from payments.models import LinkDay, Transaction
from payments.services.checkouts import checkout_limits
from tests.links import begin, link_of, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD, DECLINED_CARD

pytestmark = pytest.mark.django_db

LINKS = "/dashboard/payment-links/"
SIZE = {"key": "size", "label": "T-shirt size", "required": True}


@pytest.fixture
def link(ada, now):
    return link_of(ada.business, now=now, slug="bookbinding", max_uses=20)


def text_of(page):
    """Return what people read on a page."""
    return re.sub(r"\s+", " ", unescape(re.sub(r"<[^>]+>", " ", page.content.decode())))


class TestSharing:
    def test_page_has_address_message_and_whatsapp(self, browser, ada, link):
        page = browser.get(f"{LINKS}{link.pk}/").content.decode()

        message = (
            f"Bookbinding workshop: NGN 15,000.00 to {ada.business.name}. "
            f"Pay here: {settings.PUBLIC_URL}/l/bookbinding"
        )
        assert f'data-copy="{settings.PUBLIC_URL}/l/bookbinding"' in page
        assert f'data-copy="{message}"' in page
        assert 'href="https://wa.me/?text=Bookbinding+workshop%3A+NGN+15%2C000.00' in page
        assert '<svg viewBox="0 0 37 37"><path fill="#fff"' in page

    def test_message_of_a_range_names_both_ends(self, browser, ada, now):
        link = link_of(ada.business, now=now, amount=..., amount_range={"min": 50_000, "max": 500_000})

        page = text_of(browser.get(f"{LINKS}{link.pk}/"))

        assert f"any amount between NGN 500.00 and NGN 5,000.00 to {ada.business.name}. Pay here:" in page

    @pytest.mark.parametrize(
        ("ending", "content_type", "start"),
        [("svg", "image/svg+xml", b"<?xml"), ("png", "image/png", b"\x89PNG")],
    )
    def test_code_is_a_file(self, browser, link, ending, content_type, start):
        answer = browser.get(f"{LINKS}{link.pk}/qr.{ending}")

        assert (answer["Content-Type"], answer.content[: len(start)]) == (content_type, start)
        assert answer["Content-Disposition"] == f'attachment; filename="payment-link-bookbinding.{ending}"'

    def test_poster_says_whom_to_pay_and_what_to_check(self, browser, ada, now, link):
        page = text_of(browser.get(f"{LINKS}{link.pk}/poster/"))
        free = link_of(ada.business, now=now, amount=..., amount_range={"min": 50_000, "max": 500_000})

        host = settings.PUBLIC_URL.partition("://")[2]
        for text in (
            ada.business.name,
            "Bookbinding workshop",
            "NGN 15,000.00",
            f"{host}/l/bookbinding",
            f"Check that the address begins with {host}",
        ):
            assert text in page, text
        assert "You choose the amount" in text_of(browser.get(f"{LINKS}{free.pk}/poster/"))


class TestFunnel:
    def test_counts_each_period(self, browser, link, now):
        today = now.astimezone(UTC).date()
        for days, opened in ((0, 3), (6, 4), (7, 10), (89, 20), (90, 100)):
            LinkDay.objects.create(link=link, day=today - timedelta(days=days), opened=opened)
        pay_by_card(begin(link))
        pay_by_card(begin(link), number=DECLINED_CARD)

        page = text_of(browser.get(f"{LINKS}{link.pk}/"))

        assert "7 days 7 2 29% 1 50%" in page
        assert "30 days 17 2 12% 1 50%" in page
        assert "90 days 37 2 5% 1 50%" in page
        assert "1 of 20 19 left" in page

    def test_draws_the_last_month_to_scale(self, browser, link, now):
        LinkDay.objects.create(link=link, day=now.astimezone(UTC).date(), opened=4)
        pay_by_card(begin(link))
        begin(link)

        page = browser.get(f"{LINKS}{link.pk}/").content.decode()

        heights = re.findall(r'funnel__now" y="(\d+)" width="100" height="(\d+)"', page)
        assert heights == [("0", "100"), ("50", "50"), ("75", "25")]

    def test_says_when_there_are_more_payments_than_it_reads(self, browser, link, monkeypatch):
        monkeypatch.setattr("dashboard.payment_links.detail.funnel.MOST_COUNTED", 2)
        for _ in range(3):
            pay_by_card(begin(link))

        assert "7 days 0 3 2+" in text_of(browser.get(f"{LINKS}{link.pk}/"))


class TestCheckouts:
    def test_payer_has_one_row_with_the_last_attempt(self, browser, link):
        checkout = begin(link, name="Amaka Nwosu")
        pay_by_card(checkout, number=DECLINED_CARD)
        paid = pay_by_card(checkout, attempt=1)

        page = browser.get(f"{LINKS}{link.pk}/")

        assert page.content.decode().count(">Amaka Nwosu<") == 1
        assert re.search(rf"{paid.card_last4} · 2 attempts", text_of(page))

    def test_page_shows_payers_and_answers(self, browser, ada, now):
        link = link_of(ada.business, now=now, custom_fields=[SIZE])
        paid = pay_by_card(begin(link, name="Amaka Nwosu", answers={"size": "M", "colour": "red"}))

        page = browser.get(f"{LINKS}{link.pk}/")

        assert "Amaka Nwosu ada@example.com T-shirt size: M colour: red" in text_of(page)
        assert f'href="/dashboard/payments/{paid.pk}/"' in page.content.decode()
        assert paid.checkout.token not in page.content.decode()

    def test_list_has_all_of_them_page_by_page(self, browser, link):
        for number in range(21):
            begin(link, name=f"Payer {number:02}", network=f"192.0.2.{number}")

        first = browser.get(f"{LINKS}{link.pk}/checkouts/")
        older = re.search(r'rel="next" href="([^"]+)"', first.content.decode())[1]

        assert re.findall(r"Payer \d+", text_of(first)) == [
            f"Payer {number:02}" for number in range(20, 0, -1)
        ]
        assert "21 checkouts" in text_of(first)
        assert re.findall(r"Payer \d+", text_of(browser.get(f"{LINKS}{link.pk}/checkouts/{older}"))) == [
            "Payer 00"
        ]

    def test_export_has_a_column_for_each_question_and_no_credential(self, browser, ada, now):
        link = link_of(ada.business, now=now, custom_fields=[SIZE])
        payer = {"name": "=1+1", "phone": "+2348031234567", "answers": {"size": "@SUM(A1)", "colour": "red"}}
        paid = pay_by_card(begin(link, **payer))
        begin(link)
        begin(link_of(ada.business, now=now))

        answer = browser.get(f"{LINKS}{link.pk}/checkouts.csv")

        assert answer["Content-Disposition"] == 'attachment; filename="checkouts.csv"'
        text = b"".join(answer.streaming_content).decode("utf-8-sig")
        last, first = csv.DictReader(io.StringIO(text))
        assert first | {"id": "", "created_at": ""} == {
            "id": "",
            "status": "paid",
            "amount": "15000.00",
            "currency": "NGN",
            "quantity": "1",
            "name": "'=1+1",
            "email": "ada@example.com",
            "phone": "'+2348031234567",
            "attempts": "1",
            "payment_reference": paid.reference,
            "created_at": "",
            "answer_size": "'@SUM(A1)",
            "other_answers": "colour: red",
        }
        assert (last["status"], last["payment_reference"]) == ("open", "")
        assert paid.checkout.token not in text
        assert "192.0.2.1" not in text
        assert browser.get(f"{LINKS}{link.pk}/checkouts.xlsx").status_code == 200


class TestEndingAnAttempt:
    def address(self, payment):
        return f"{LINKS}{payment.payment_link_id}/attempts/{payment.pk}/end/"

    def test_frees_its_use(self, browser, link):
        payment = pay_by_transfer(begin(link))
        page = browser.get(f"{LINKS}{link.pk}/")
        assert f'href="{self.address(payment)}"' in page.content.decode()
        assert "1 held · 19 left" in text_of(page)
        assert "The money may be on its way" in text_of(browser.get(self.address(payment)))

        browser.post(self.address(payment))
        browser.post(self.address(payment))  # pressed twice

        link.refresh_from_db()
        payment.refresh_from_db()
        [entry] = AuditEntry.objects.filter(action="payment_link.attempt_ended")
        assert (payment.status, payment.response_code, link.uses_held) == ("failed", "20091", 0)
        assert (entry.actor, entry.target, entry.after) == (
            "ada@example.com",
            link.reference,
            {"payment": payment.reference},
        )

    def test_is_possible_for_every_waiting_transfer(self, browser, link, monkeypatch):
        monkeypatch.setattr("dashboard.payment_links.checkouts.attempt_views.SIZE", 3)
        waiting = [pay_by_transfer(begin(link, network=f"192.0.2.{number}")) for number in range(4)]
        pay_by_card(begin(link), number=CHALLENGED_CARD)
        listed = f"{LINKS}{link.pk}/attempts/"
        assert f'href="{listed}"' in browser.get(f"{LINKS}{link.pk}/").content.decode()

        newest = browser.get(listed)
        oldest = browser.get(listed + re.search(r'rel="next" href="([^"]+)"', newest.content.decode())[1])

        found = [re.findall(r'href="(\S+/end/)"', each.content.decode()) for each in (newest, oldest)]
        addresses = [self.address(payment) for payment in waiting]
        assert found == [addresses[:0:-1], addresses[:1]]
        assert "4 transfers" in text_of(newest)

    def test_is_refused_for_cards(self, browser, link):
        payment = pay_by_card(begin(link), number=CHALLENGED_CARD)

        assert "be ended" in text_of(browser.get(self.address(payment)))
        page = browser.post(self.address(payment), follow=True)

        assert "Only a transfer of a payment link" in text_of(page)
        assert Transaction.objects.get(pk=payment.pk).status == "pending"
        assert AuditEntry.objects.filter(action="payment_link.attempt_ended").count() == 0

    def test_needs_an_attempt_of_the_link(self, browser, ada, link, now):
        payment = pay_by_transfer(begin(link))
        other = link_of(ada.business, now=now)

        assert browser.post(f"{LINKS}{other.pk}/attempts/{payment.pk}/end/").status_code == 404
        assert Transaction.objects.get(pk=payment.pk).status == "pending"


@pytest.fixture(params=["this link", "all your links"])
def limited(request, ada, link, now):
    """Where card payments are limited, and the link at which the first of two cards was declined."""
    return request.param, link if request.param == "this link" else link_of(ada.business, now=now)


def test_page_says_that_new_cards_are_limited(browser, link, limited, monkeypatch):
    monkeypatch.setattr(checkout_limits, "MOST_DECLINES_OF_LINK", 2)
    monkeypatch.setattr(checkout_limits, "MOST_DECLINES_OF_BUSINESS", 2)
    where, declining = limited
    pay_by_card(begin(declining), number=DECLINED_CARD)
    assert "Card payments are limited" not in text_of(browser.get(f"{LINKS}{link.pk}/"))

    pay_by_card(begin(link), number=DECLINED_CARD)

    assert f"Card payments are limited at {where}" in text_of(browser.get(f"{LINKS}{link.pk}/"))
