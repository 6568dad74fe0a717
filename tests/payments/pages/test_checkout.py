"""The pages of payment links and checkouts, as a browser without JavaScript uses them."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.core import signing
from django.test import Client
from django.utils import timezone

from kit.banks import groups
from kit.time.time_ordered_ids import new_id
from merchants.models import Business, Logo
from payments.metrics import CHECKOUT_REFUSALS
from payments.models import Checkout, LinkDay, PaymentLink, Transaction, WatchedAuthorisation
from payments.pages import refused_forms
from payments.services.checkouts.checkout_limits import LimitReached
from tests import orders
from tests.orders import CHALLENGED_CARD, DECLINED_CARD, FRICTIONLESS_CARD, GOOD_CARD
from tests.payers import refreshed_to

pytestmark = pytest.mark.django_db

BROWSER = {"User-Agent": "Mozilla/5.0 (Linux; Android 14) Chrome/120", "Accept": "text/html"}
DETAILS = {"name": "Ada Obi", "email": "ada@example.com", "method": "card"}


@pytest.fixture
def payer():
    return Client(headers=BROWSER)


def make_link(api, **changes):
    answer = api.post("/api/payment-links", orders.payment_link(**changes))
    assert answer.status_code == 201, answer.json()
    return answer.json()


def path(link):
    return urlsplit(link["url"]).path


def words(answer):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def begin(payer, link, **changes):
    answer = payer.post(path(link), DETAILS | changes)
    assert answer.status_code == 303, words(answer)
    return answer.headers["Location"]


def card(number=FRICTIONLESS_CARD, **changes):
    return orders.card_form(number, **changes)


def refused(payer, target, form):
    """Send a form that is refused, and return the page that it redirects to."""
    answer = payer.post(target, form, follow=True)
    assert [status for _, status in answer.redirect_chain] == [303]
    assert answer.status_code == 200
    return answer


class TestLinkPage:
    def test_shows_the_offer_and_begins_nothing(self, api, payer, ada):
        link = make_link(api, description="Two days\nin Yaba", support_contact="help@ada.example")

        answer = payer.get(path(link))

        text = words(answer)
        assert answer.status_code == 200
        for shown in (
            ada.business.name,
            "Bookbinding workshop",
            "NGN 15,000.00",
            "Two days",
            "help@ada.example",
        ):
            assert shown in text
        assert "Continue" in text
        assert not Checkout.objects.exists()
        assert not answer.cookies

    def test_headers_keep_the_page_private(self, api, payer):
        headers = payer.get(path(make_link(api))).headers

        assert headers["Referrer-Policy"] == "no-referrer"
        assert "no-store" in headers["Cache-Control"]
        assert headers["Permissions-Policy"] == "camera=(), microphone=(), geolocation=(), payment=()"
        assert headers["X-Robots-Tag"] == "noindex, nofollow"
        assert "default-src 'none'" in headers["Content-Security-Policy"]

    def test_counts_views_of_browsers_once(self, api, payer):
        link = make_link(api)

        payer.get(path(link))
        payer.get(path(link))
        Client(headers={"User-Agent": "WhatsApp/2.0"}).get(path(link))
        payer.get(path(link), headers={"Sec-Purpose": "prefetch"})
        payer.head(path(link))

        assert LinkDay.objects.get().opened == 1

    def test_is_found_in_any_case(self, api, payer):
        link = make_link(api, slug="bookbinding")

        assert payer.get("/l/BookBinding").status_code == 200
        assert payer.get("/l/nothing-here").status_code == 404
        assert link["slug"] == "bookbinding"

    @pytest.mark.parametrize(
        ("columns", "status", "said"),
        [
            ({"is_switched_off": True}, 410, "This link is not active"),
            ({"expires_at": timezone.now() - timedelta(days=1)}, 410, "This link has expired"),
            ({"max_uses": 1, "uses_paid": 1}, 410, "This has been paid"),
            ({"max_uses": 2, "uses_paid": 2}, 410, "All places are taken"),
            ({"max_uses": 2, "uses_held": 2}, 200, "Others are paying at this moment"),
        ],
    )
    def test_says_why_it_can_not_be_paid(self, api, payer, columns, status, said):
        link = make_link(api)
        PaymentLink.objects.update(**columns)

        answer = payer.get(path(link))

        assert answer.status_code == status
        assert said in words(answer)
        assert "Ada Books" in words(answer)

    @pytest.mark.parametrize("contact", ["help@ada.example", ""])
    def test_end_leads_to_the_merchant_or_back_to_the_page(self, api, payer, ada, contact):
        link = make_link(api)
        PaymentLink.objects.update(is_switched_off=True)
        Business.objects.filter(pk=ada.business_id).update(support_email=contact)

        page = payer.get(path(link)).content.decode()

        way_out = f"mailto:{contact}" if contact else path(link)
        assert f'<a class="pay__button pay__button--plain" href="{way_out}">' in page
        assert ("Contact <bdi>" in page, ">Look again<" in page) == (bool(contact), not contact)

    def test_end_of_a_form_leads_to_its_page(self, api, payer):
        checkout = begin(payer, make_link(api))

        answer = payer.post(f"{checkout}/card", headers={"Sec-Fetch-Site": "cross-site"})

        assert answer.status_code == 403
        assert f'<a class="pay__button pay__button--plain" href="{checkout}">' in answer.content.decode()

    def test_blocked_link_names_no_merchant(self, api, payer, ada, settings):
        link = make_link(api)
        PaymentLink.objects.update(blocked_at=timezone.now(), block_reason="fraud")

        answer = payer.get(path(link))

        assert (answer.status_code, "This link is not available" in words(answer)) == (410, True)
        assert ada.business.name not in words(answer)
        assert 'class="order' not in answer.content.decode()
        assert f"Payments by Sluice on {urlsplit(settings.PUBLIC_URL).netloc}" in words(answer)

    def test_everything_held_refuses_a_new_checkout(self, api, payer):
        link = make_link(api, max_uses=2)
        PaymentLink.objects.update(uses_held=2)

        assert payer.post(path(link), DETAILS).status_code == 409
        assert not Checkout.objects.exists()


class TestDetails:
    def test_freeze_what_is_paid(self, api, payer):
        link = make_link(api, quantity_max=4)

        begin(payer, link, quantity="3", amount="1")

        checkout = Checkout.objects.get()
        assert (checkout.amount, checkout.quantity, checkout.currency) == (4_500_000, 3, "NGN")
        assert (checkout.name, checkout.email, checkout.method) == ("Ada Obi", "ada@example.com", "card")

    @pytest.mark.parametrize(
        ("text", "amount"),
        [
            ("500", 50_000), ("1,500.50", 150_050), ("0500.5", 50_050), ("₦2,500", 250_000), ("2,500 NGN", 250_000),
            ("NGN 2,500.00", 250_000), ("\u202a₦\u00a02,500\u202c", 250_000), ("2,500.00\u202fngn\ufeff", 250_000),
        ],
    )  # fmt: skip
    def test_amounts_are_read_in_major_units(self, api, payer, text, amount):
        link = make_link(api, amount=..., amount_range={"min": 50_000, "max": 500_000})

        begin(payer, link, amount=text)

        assert Checkout.objects.get().amount == amount

    def test_other_amounts_are_errors(self, subtests, api, payer):
        for text in [
            "",
            "4084084084084081",
            "$2,500",
            "NGN 2,500 USD",
            "1.005",
            "15,00",
            "1e3",
            "499.99",
            "5000.01",
            "-600",
            "\uff16\uff10\uff10",
        ]:
            with subtests.test(text=text):
                link = make_link(api, amount=..., amount_range={"min": 50_000, "max": 500_000})

                answer = refused(payer, path(link), DETAILS | {"amount": text})

                assert 'aria-describedby="amount-error' in answer.content.decode()
                assert "4084084084084081" not in answer.content.decode()
                assert not Checkout.objects.exists()

    def test_errors_say_what_to_do(self, subtests, api, payer):
        for changes, said in [
            ({"name": ""}, "Enter your full name."),
            ({"email": "nonsense"}, "Enter an email address"),
            ({"name": "4084 0840 8408 4081"}, "Do not enter your card number here"),
            ({"method": "cash"}, "Choose how you want to pay."),
            ({"email": "4084084084084081@example.com"}, "Do not enter your card number here"),
            ({"field_size": "4084-0840-8408-4081"}, "Do not enter your card number here"),
            ({"phone": "4084084084084081"}, "Do not enter your card number here"),
            ({"phone": "+49 151 1234 5678"}, "Enter this number without its country code"),
            ({"field_size": ""}, "Answer “Size”."),
            ({"field_size": "x" * 201}, "at most 200 characters"),
        ]:
            with subtests.test(changes=changes, said=said):
                collect = {"phone": "optional"}
                fields = [{"key": "size", "label": "Size", "required": True}]
                link = make_link(api, collect=collect, custom_fields=fields)

                answer = refused(payer, path(link), DETAILS | {"field_size": "M"} | changes)

                assert "4084" not in answer.content.decode()
                assert said in words(answer)
                assert "<title>Error: " in answer.content.decode()

    def test_digits_that_no_scheme_issues_are_stored_as_entered(self, api, payer):
        imei = "356938035643809"  # passes the Luhn check, as every IMEI and this telephone number
        fields = [{"key": "imei", "label": "IMEI", "required": True}]
        link = make_link(api, collect={"phone": "required"}, custom_fields=fields)

        begin(payer, link, phone="+234 803 123 0007", field_imei=imei)

        checkout = Checkout.objects.get()
        assert (checkout.phone, checkout.answers) == ("+234 803 123 0007", {"imei": imei})

    def test_pasted_text_is_stored_without_what_cannot_be_seen(self, api, payer):
        link = make_link(api, collect={"phone": "required"})

        begin(
            payer,
            link,
            name="\ufeffAda\u00a0\u200bObi\u200e",
            email="\u2068ada@example.com\u2069",
            phone="\u202a+234\u00a0803\u2011123\u20110007\u202c",
        )

        checkout = Checkout.objects.get()
        assert (checkout.name, checkout.email) == ("Ada Obi", "ada@example.com")
        assert checkout.phone == "+234 803-123-0007"

    def test_known_customer_is_not_asked_and_not_shown(self, api, payer):
        link = make_link(
            api, max_uses=1, customer={"reference": "c-1", "email": "bisi@example.com", "name": "Bisi Ojo"}
        )

        text = payer.get(path(link)).content.decode()

        assert "b•••@example.com" in text
        assert "bisi@example.com" not in text
        assert "Bisi Ojo" not in text
        assert 'name="email"' not in text

    def test_cookie_only_offers_to_continue(self, api, payer):
        link = make_link(api)
        address = begin(payer, link)

        cookie = payer.cookies["resume"]
        assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (path(link), True, "Lax")
        assert address in payer.get(path(link)).content.decode()
        assert "Continue your payment" in words(payer.get(path(link)))
        assert "Continue your payment" not in words(Client().get(path(link)))

    def test_forms_of_other_sites_are_refused(self, api, payer):
        link = make_link(api)
        address = begin(payer, link)

        for target in (path(link), f"{address}/card", f"{address}/transfer", f"{address}/end"):
            for header in (
                {"Sec-Fetch-Site": "cross-site"},
                {"Sec-Fetch-Site": "same-site"},
                {"Origin": "https://other.example"},
            ):
                answer = payer.post(target, DETAILS | card(), headers=header)
                assert answer.status_code == 403
        assert Transaction.objects.count() == 0


class TestCard:
    def test_success_leads_to_the_receipt(self, api, payer):
        link = make_link(api, success_message="See you in May!")
        address = begin(payer, link)
        assert "Pay NGN 15,000.00" in words(payer.get(address))

        answer = payer.post(f"{address}/card", card())

        assert (answer.status_code, answer.headers["Location"]) == (303, f"{address}/receipt")
        receipt = words(payer.get(f"{address}/receipt"))
        payment = Transaction.objects.get()
        for shown in ("Payment received", "See you in May!", "NGN 15,000.00", payment.reference, "2701"):
            assert shown in receipt
        assert payer.get(address).headers["Location"] == f"{address}/receipt"

    def test_success_leads_to_the_merchant(self, api, payer):
        link = make_link(api, redirect_url="https://shop.example/thanks?a=1&&status=x&b=%20c#")
        address = begin(payer, link)

        answer = payer.post(f"{address}/card", card())

        payment = Transaction.objects.get()
        assert (answer.status_code, answer.headers["Location"]) == (303, address)
        page = payer.get(address)
        assert f'href="{refreshed_to(page, escaped=True)}"' in page.content.decode()
        parts = urlsplit(refreshed_to(page))
        assert (page.status_code, parts.netloc, parts.path) == (200, "shop.example", "/thanks")
        assert parts.query.startswith("a=1&&b=%20c&")
        assert refreshed_to(page).endswith("#")
        assert parse_qs(parts.query) == {
            "a": ["1"],
            "b": [" c"],
            "reference": [payment.reference],
            "id": [str(payment.pk)],
            "status": ["success"],
            "payment_link_id": [link["id"]],
        }

    def test_success_redirects_a_program_to_the_merchant(self, api):
        address = begin(Client(), make_link(api, redirect_url="https://shop.example/thanks"))

        answers = [Client().post(f"{address}/card", card()), Client().get(address)]

        payment = Transaction.objects.get()
        for answer in answers:
            assert answer.status_code == 303
            assert answer["Location"].startswith(
                f"https://shop.example/thanks?reference={payment.reference}&id={payment.pk}&status=success"
            )

    def test_decline_blames_the_bank_only_if_the_bank_declined(self, api, payer):
        address = begin(payer, make_link(api))
        payer.post(f"{address}/card", card(DECLINED_CARD))

        Transaction.objects.update(response_code="20030")  # also of payments that reached no bank

        assert "The payment was not made" in words(payer.get(address))

    @pytest.mark.parametrize(
        ("code", "said"),
        [
            ("20030", ""),
            ("20091", "The last attempt was ended. "),
            ("20051", "Not enough money on this card"),
        ],
    )
    def test_attempt_that_may_be_charged_is_given_back(self, api, payer, code, said):
        address = begin(payer, make_link(api))
        payer.post(f"{address}/card", card(DECLINED_CARD))
        Transaction.objects.update(response_code=code)
        now = timezone.now()
        WatchedAuthorisation.objects.create(
            id=new_id(now),
            transaction=Transaction.objects.get(),
            opened_at=now,
            until=now + timedelta(days=7),
            next_look_at=now,
        )

        text = words(payer.get(address))

        assert said in text
        assert "If your bank shows a charge for it, you get the money back." in text
        assert "Nothing was paid" not in text
        assert "did not accept" not in text

    def test_challenge_returns_to_the_checkout(self, api, payer):
        link = make_link(api)
        address = begin(payer, link)

        answer = payer.post(f"{address}/card", card(GOOD_CARD))
        challenge = answer.headers["Location"]
        assert "/3ds/" in challenge
        assert "Continue with your bank" in words(payer.get(address))

        back = payer.post(urlsplit(challenge).path, {"code": "123456", "action": "approve"})
        assert urlsplit(back.headers["Location"]).path == address
        assert payer.get(address).headers["Location"] == f"{address}/receipt"

    def test_another_card_can_be_used_instead_of_the_challenge(self, api, payer):
        address = begin(payer, make_link(api))
        payer.post(f"{address}/card", card(CHALLENGED_CARD))

        assert payer.post(f"{address}/end").headers["Location"] == address
        assert Transaction.objects.get().response_code == "20091"
        payer.post(f"{address}/card", card(attempt="1"))

        assert Transaction.objects.order_by("pk").last().status == "success"

    def test_has_the_payers_name_filled_in(self, api, payer):
        page = payer.get(begin(payer, make_link(api))).content.decode()

        assert re.search(r'name="name"[^>]* value="Ada Obi"', page)

    def test_decline_says_why_in_words(self, api, payer):
        address = begin(payer, make_link(api))

        assert payer.post(f"{address}/card", card(DECLINED_CARD)).headers["Location"] == address
        text = words(payer.get(address))

        assert "Your bank declined this card" in text
        assert "Use another card" in text
        page = payer.get(address).content.decode()
        assert 'aria-invalid="true" aria-describedby="number-error"' in page
        assert "<title>Error: " in page
        payment = Transaction.objects.get()
        before_the_test_cards = text.partition("Test cards")[0]
        assert payment.response_code not in before_the_test_cards
        assert payment.response_summary not in before_the_test_cards

    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"number": ""}, "Enter the card number."),
            ({"number": "4000 0000 0000 270l"}, "Enter the card number without letters."),
            ({"number": "4000000000002702"}, "Check the card number."),
            ({"expiry": "13/35"}, "Enter the expiry date as on the card"),
            ({"expiry": "01/20"}, "This card has expired."),
            ({"name": ""}, "Enter the name on the card."),
            ({"name": "4084084084084081"}, "Do not enter your card number here"),
            (
                {"name": "9084084084084080", "number": "9084084084084080"},
                "Do not enter your card number here",
            ),
            ({"code": "12"}, "Enter the 3 or 4 digits"),
        ],
    )
    def test_wrong_fields_come_back_without_the_number(self, api, payer, changes, said):
        address = begin(payer, make_link(api))

        answer = refused(payer, f"{address}/card", card("5123456789012346", code="731") | changes)

        page = answer.content.decode()
        assert said in words(answer)
        for secret in ("5123456789012346", "512345", "731", "2346", "4084084084084081"):
            assert secret not in page
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize(
        "number",
        [
            "4000-0000-0000-2701",
            "\u202a4000\u202f0000\u20110000\u00a02701\u202c",
            "\ufeff4000000000002701\u200b",
        ],
    )
    @pytest.mark.parametrize(
        "expiry", ["12/35", "1235", "12/2035", "12 / 35", "2035-12", "\u200e12\u00a0/\u00a035\u200f"]
    )
    def test_reads_what_people_write(self, api, payer, number, expiry):
        address = begin(payer, make_link(api))

        payer.post(f"{address}/card", card(number, expiry=expiry))

        assert Transaction.objects.get().status == "success"

    def test_old_form_begins_nothing(self, api, payer):
        address = begin(payer, make_link(api))
        payer.post(f"{address}/card", card(DECLINED_CARD))

        for attempt in ("0", "", "7", "x"):
            answer = payer.post(f"{address}/card", card(attempt=attempt))
            assert answer.headers["Location"] == address

        assert Transaction.objects.count() == 1


class TestRefusedForm:
    """It redirects to its page, which shows it again from a cookie of this browser: entries, errors and no secret."""

    @pytest.fixture
    def checkout(self, api, payer):
        return begin(payer, make_link(api))

    def test_of_a_link_keeps_the_other_entries(self, api, payer):
        link = make_link(api, amount=..., amount_range={"min": 50_000, "max": 500_000})

        page = refused(
            payer, path(link), DETAILS | {"amount": "4.999", "email": "nonsense", "method": "virtual_account"}
        )

        shown = page.content.decode()
        for value in ("4.999", "nonsense", "Ada Obi"):
            assert f'value="{value}"' in shown
        assert 'value="virtual_account" checked' in shown

    def test_of_a_card_keeps_name_and_expiry_only(self, payer, checkout):
        page = refused(
            payer,
            f"{checkout}/card",
            card("5123456789012346", code="7312", name="Bisi Ojo") | {"expiry": "13/35"},
        )
        again = refused(
            payer, f"{checkout}/card", card("51234", code="731", name="Bisi 7313", expiry="12/35")
        )

        assert 'value="Bisi Ojo"' in page.content.decode()
        assert 'value="12/35"' in again.content.decode()
        for secret in ("5123", "731"):
            assert secret not in page.content.decode().partition("Test cards")[0]
            assert secret not in again.content.decode().partition("Test cards")[0]
        _, entries, errors = signing.loads(payer.cookies["refused"].value, salt=refused_forms._salt(checkout))
        assert entries == {"expiry": "12/35", "name": ""}
        assert list(errors) == ["number"]

    def test_cookie_is_for_this_page_and_short(self, payer, checkout):
        cookie = payer.post(f"{checkout}/card", card("1")).cookies["refused"]

        assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (checkout, True, "Lax")
        assert cookie["max-age"] == 900

    def test_of_another_tab_is_not_shown(self, payer, checkout):
        first = payer.post(f"{checkout}/card", card("1")).headers["Location"]
        second = payer.post(f"{checkout}/card", card("", name="Bisi Ojo")).headers["Location"]

        assert "Enter the card number." in words(payer.get(second))
        assert "Enter the card number." in words(payer.get(second))  # after a reload
        for address in (first, checkout, f"{checkout}?refused=x"):
            page = payer.get(address)
            assert "Bisi Ojo" not in page.content.decode()
            assert "Enter the card number." not in words(page)
        assert "Some entries were not accepted." in words(payer.get(first))
        assert "Some entries were not accepted." not in words(payer.get(checkout))

    def test_needs_its_cookie_unchanged(self, api, payer, checkout):
        page = payer.post(f"{checkout}/card", card("1")).headers["Location"]
        good = payer.cookies["refused"].value
        elsewhere = f"{begin(payer, make_link(api))}?{urlsplit(page).query}"
        payer.cookies.clear()

        for address, cookie in (
            (page, ""),
            (page, f"{good}x"),
            (page, "\u00e9:x:y"),
            (page, ".x"),
            (elsewhere, good),
        ):
            answer = payer.get(address, headers={"Cookie": f"refused={cookie}"})
            assert answer.status_code == 200
            assert "Some entries were not accepted. Enter all of them again." in words(answer)

    def test_too_long_for_a_cookie_keeps_its_errors(self, api, payer):
        fields = [
            {"key": f"key{number}", "label": f"Label {number}", "required": False} for number in range(3)
        ]
        texts = {
            f"field_key{number}": "".join(
                chr(0x4E00 + (7919 * number + 104_729 * turn) % 20_000) for turn in range(900)
            )
            for number in range(3)
        }

        page = refused(payer, path(make_link(api, custom_fields=fields)), DETAILS | texts)

        assert words(page).count("Enter at most 200 characters.") == 2 * 3

    def test_does_not_end_a_resting_card(self, payer, checkout, monkeypatch):
        until = timezone.now() + timedelta(minutes=5)

        def refuse(**_):
            raise LimitReached("declines", until=until)

        monkeypatch.setattr("payments.pages.checkout.checkouts.pay_by_card", refuse)
        page = refused(payer, f"{checkout}/card", card())

        assert "Pay by transfer, or try again at" in words(page)
        assert "Pay by bank transfer" in words(page)


class TestTransfer:
    def test_shows_the_account_and_waits(self, api, payer):
        address = begin(payer, make_link(api), method="virtual_account")
        assert "Show account number" in words(payer.get(address))

        assert payer.post(f"{address}/transfer", {"attempt": "0"}).headers["Location"] == address
        text = words(payer.get(address))

        session = Transaction.objects.select_related("session").get().session
        for shown in (
            *groups(session.number_id),
            session.bank_name,
            "NGN 15,000.00",
            "Pay before",
            "(Africa/Lagos)",
        ):
            assert shown in text
        assert payer.get(f"{address}/state").json() == {"state": "paying"}

    def test_is_simulated_in_the_sandbox(self, api, payer, settings):
        address = begin(payer, make_link(api), method="virtual_account")
        payer.post(f"{address}/transfer", {"attempt": "0"})

        settings.SANDBOX = False
        assert payer.post(f"{address}/simulate").status_code == 404
        settings.SANDBOX = True
        payer.post(f"{address}/simulate")

        assert payer.get(f"{address}/state").json() == {"state": "paid"}
        assert payer.get(address).headers["Location"] == f"{address}/receipt"

    def test_asks_before_it_ends(self, api, payer):
        address = begin(payer, make_link(api), method="virtual_account")
        payer.post(f"{address}/transfer", {"attempt": "0"})

        asked = payer.post(f"{address}/end", follow=True)
        assert asked.redirect_chain == [(f"{address}/end", 303)]
        assert "Have you sent the money already? Then wait." in words(asked)
        assert Transaction.objects.get().status == "pending"

        payer.post(f"{address}/end", {"step": "confirmed"})
        assert Transaction.objects.get().response_code == "20091"

    def test_another_amount_is_explained(self, api, payer):
        address = begin(payer, make_link(api), method="virtual_account")
        payer.post(f"{address}/transfer", {"attempt": "0"})
        payment = Transaction.objects.select_related("session").get()

        api.post(
            "/api/virtual-accounts/simulate", {"account_number": payment.session.number_id, "amount": 5_000}
        )
        text = words(payer.get(address))

        for shown in (
            "Your money is not lost: ask the merchant",
            payment.reference,
            "NGN 50.00",
            "Start again",
        ):
            assert shown in text


class TestAnswers:
    def test_unknown_tokens_are_limited(self, payer):
        refused = CHECKOUT_REFUSALS.labels("unknown_addresses")._value
        before = refused.get()

        answers = [payer.get(f"/checkout/{'x' * 31}{number % 10}").status_code for number in range(31)]

        assert answers == [404] * 30 + [429]
        assert refused.get() - before == 1

    def test_theme_is_the_merchants_colour(self, api, payer, ada):
        ada.business.accent_color = "#0b6e69"
        ada.business.save()

        assert '/checkout/theme/0b6e69.css"' in payer.get(path(make_link(api))).content.decode()
        assert payer.get("/checkout/theme/0b6e69.css").content == b":root { --brand: #0b6e69; }\n"
        assert payer.get("/checkout/theme/eeeeee.css").status_code == 404
        assert payer.get("/checkout/theme/nonsense.css").status_code == 404

    def test_payer_with_too_many_open_payments_finds_them(self, api, payer):
        link = make_link(api, max_uses=3)
        first = begin(payer, link, method="virtual_account")
        payer.post(f"{first}/transfer", {"attempt": "0"})
        second = begin(payer, link, method="virtual_account")

        refusal = payer.post(f"{second}/transfer", {"attempt": "0"})

        assert refusal.status_code == 409
        assert f'href="{path(link)}">Find your open payment</a>' in refusal.content.decode()
        assert f'href="{first}">Continue your payment</a>' in payer.get(path(link)).content.decode()

    def test_logo_and_support_contact_are_the_merchants(self, api, payer, ada):
        ada.business.logo = Logo.objects.create(media_type="image/png", content=b"image")
        ada.business.support_email, ada.business.support_phone = "help@ada.example", "0803 123 4567"
        ada.business.save()

        page = payer.get(path(make_link(api))).content.decode()

        assert f'src="/checkout/logo/{ada.business.logo_id}"' in page
        assert 'href="mailto:help@ada.example"' in page
        assert 'href="tel:08031234567"' in page

    def test_contact_of_a_link_replaces_the_merchants(self, api, payer, ada):
        ada.business.support_email = "help@ada.example"
        ada.business.save()

        page = words(payer.get(path(make_link(api, support_contact="Ask Bola"))))

        assert "Ask Bola" in page
        assert "help@ada.example" not in page

    def test_merchant_reads_who_paid(self, api, payer, other_api):
        link = make_link(api, custom_fields=[{"key": "size", "label": "Size", "required": False}])
        address = begin(payer, link, field_size="M")
        payer.post(f"{address}/card", card(DECLINED_CARD))
        payer.post(f"{address}/card", card(attempt="1"))

        [shown] = api.get(f"/api/payment-links/{link['reference']}/checkouts").json()["data"]

        paid = Transaction.objects.get(status="success")
        assert shown == {
            "id": shown["id"],
            "payment_link_id": link["id"],
            "status": "paid",
            "amount": 1_500_000,
            "quantity": 1,
            "currency": "NGN",
            "customer": {"name": "Ada Obi", "email": "ada@example.com"},
            "answers": {"size": "M"},
            "attempts": 2,
            "payment_reference": paid.reference,
            "created_at": shown["created_at"],
        }
        assert api.get(f"/api/payments/{paid.reference}/checkout").json() == shown
        assert other_api.get(f"/api/payments/{paid.reference}/checkout").status_code == 404
        assert address.rpartition("/")[2] not in str(api.get("/api/payments").json())
