"""Payment links in the dashboard: list, form, change, deactivation and activation."""

import re
from datetime import UTC, datetime, timedelta
from html import unescape
from urllib.parse import urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.ui.lists import pagination
from kit.db import clock
from merchants.models import AuditEntry
from merchants.people.audit import Actor
from payments.models import PaymentLink, Transaction
from payments.services.links import links
from tests import orders
from tests.links import CHANGED_LINK, NEW_LINK, link_of
from virtual_accounts.models import VirtualAccount

pytestmark = pytest.mark.django_db

AREA = "/dashboard/payment-links/"
NEW, FOR_ONE = f"{AREA}new/", f"{AREA}new/?for=one"
OPERATOR = Actor(name="staff@example.com")


@pytest.fixture
def link(ada, now):
    return link_of(ada.business, now=now, reference="workshop-may", max_uses=20)


@pytest.fixture
def payer():
    return Client()


def words(answer):
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", answer.content.decode())).split())


def rows(answer):
    return [row.link.reference for row in answer.context["rows"]]


def entries(action):
    return list(AuditEntry.objects.filter(action=action).values_list("actor", "target", "before", "after"))


def errors(answer):
    """Return the errors of the page's form."""
    return {name: [str(each) for each in found] for name, found in answer.context["form"].errors.items()}


def hold(link, uses):
    PaymentLink.objects.filter(pk=link.pk).update(uses_held=uses)


def begin(payer, link):
    """Begin to pay with a link, until the card."""
    details = {"name": "Ada Obi", "email": "ada@example.com", "method": "card"}
    return payer.post(urlsplit(link.url).path, details)


class TestList:
    def test_shows_amount_status_uses_and_what_was_collected(self, browser, ada, now, link):
        link_of(ada.business, now=now, amount=..., amount_range={"min": 50_000, "max": 500_000})
        PaymentLink.objects.filter(pk=link.pk).update(uses_paid=4, uses_held=1, amount_paid=6_000_000)

        text = words(browser.get(AREA))

        assert (
            "NGN 15,000.00 Active Bookbinding workshop workshop-may 4 of 20 uses 1 held NGN 60,000.00" in text
        )
        assert "NGN 500.00 to 5,000.00" in text
        assert "NGN 60,000.00 collected" in text

    def test_has_a_tab_for_each_status(self, browser, ada, now, link):
        def made(name, **columns):
            link_of(ada.business, now=now, reference=name)
            PaymentLink.objects.filter(reference=name).update(**columns)

        made("off", is_switched_off=True)
        made("blocked", blocked_at=now, block_reason="Fraud")
        made("over", expires_at=now - timedelta(days=1))
        made("full", max_uses=1, uses_paid=1, is_switched_off=True)

        page = browser.get(AREA)
        counts = {tab.name: tab.shown_count for tab in page.context["tabs"]}

        assert counts == {"All": "5", "Active": "1", "Used up": "1", "Inactive": "2", "Expired": "1"}
        assert set(rows(browser.get(AREA, {"status": "inactive"}))) == {"blocked", "off"}
        assert rows(browser.get(AREA, {"status": "used_up"})) == ["full"]

    @pytest.mark.parametrize("newest", [2, 10_000])
    def test_finds_a_link_by_reference_title_and_address(self, browser, ada, now, monkeypatch, newest):
        """References and addresses are found at any age, titles among as many rows as a page reads."""
        monkeypatch.setattr(pagination, "MOST_SCANNED", newest)
        old = link_of(ada.business, now=now - timedelta(days=9), reference="library", title="Donations")
        for number in range(3):
            link_of(ada.business, now=now, reference=f"link-{number}", title="Workshop", currency="USD")

        for text in (
            "library",
            "\ufefflibrary\u200e",
            old.slug.upper(),
            old.url,
            f"{old.url}?utm=1",
            old.url.removeprefix("http://"),
        ):
            assert rows(browser.get(AREA, {"q": text})) == ["library"], text
        assert len(rows(browser.get(AREA, {"q": "wörkS"}))) == min(newest, 3)
        found = browser.get(AREA, {"q": "donat"})
        assert rows(found) == ([] if newest == 2 else ["library"])
        assert (b"Search older" in found.content) == (newest == 2)
        assert rows(browser.get(AREA, {"currency": "NGN"})) == ([] if newest == 2 else ["library"])

    def test_teaches_when_it_is_empty(self, browser, bisi, now):
        link_of(bisi.business, now=now)  # of another business

        page = browser.get(AREA)

        assert "No payment links yet" in words(page)
        assert page.content.decode().count(f'href="{NEW}"') == 2
        assert browser.get(AREA, {"q": "http://["}).status_code == 200


class TestForm:
    def test_creates_the_link_that_the_api_returns(self, browser, api):
        given = NEW_LINK | {
            "description": "Two days\r\nin Yaba", "quantity_max": "4", "max_uses": "1,000", "slug": "bookbinding",
            "expires_at": "2030-05-02T09:00", "payment_methods": "virtual_account,card", "collect_phone": "optional",
            "label_1": "T-shirt size", "required_1": "on", "label_2": "Diet", "key_2": "food",
            "redirect_url": "https://ada.example/thanks", "success_message": "See you", "support_contact": "08031234567",
        }  # fmt: skip

        answer = browser.post(NEW, given)

        made = api.get("/api/payment-links/workshop").json()
        assert answer["Location"] == f"{AREA}{made['id']}/"
        assert made.items() >= {
            "title": "Bookbinding workshop", "description": "Two days\nin Yaba", "amount": 1_500_000, "currency": "NGN",
            "quantity_max": 4, "max_uses": 1_000, "slug": "bookbinding", "expires_at": "2030-05-02T08:00:00.000Z",
            "payment_methods": ["virtual_account", "card"], "transfer_window": 1_800,
            "collect": {"name": "required", "email": "required", "phone": "optional"},
            "custom_fields": [
                {"key": "t_shirt_size", "label": "T-shirt size", "required": True},
                {"key": "food", "label": "Diet", "required": False},
            ],
            "redirect_url": "https://ada.example/thanks", "success_message": "See you", "support_contact": "08031234567",
        }.items()  # fmt: skip
        assert entries("payment_link.created") == [
            ("ada@example.com", "workshop", {}, {"title": "Bookbinding workshop", "slug": "bookbinding"})
        ]

    def test_makes_one_link_however_often_it_is_submitted(self, browser):
        first, second = (browser.post(NEW, NEW_LINK) for _ in range(2))
        other = browser.post(NEW, NEW_LINK | {"amount": "16000"})

        assert first["Location"] == second["Location"]
        assert errors(other) == {"reference": ["Another link has this reference. Choose another one."]}
        assert PaymentLink.objects.count() == 1

    def test_creates_a_range(self, browser, api):
        given = NEW_LINK | {"price": "range", "amount_min": "500", "amount_max": "50,000.50"}

        browser.post(NEW, given | {"suggested": "NGN 1,000.00 ₦2500.50,  5000"})

        span = {"min": 50_000, "max": 5_000_050, "suggested": [100_000, 250_050, 500_000]}
        assert api.get("/api/payment-links/workshop").json()["amount_range"] == span

    def test_proposes_30_days_and_takes_a_customer_for_one_payment(self, browser, api, now):
        proposed = browser.get(FOR_ONE).context["form"].initial
        given = NEW_LINK | {name: proposed[name] for name in ("expires_at", "reference")}
        customer = {"customer_reference": "c-7", "customer_email": "bola@example.com"}

        assert browser.post(FOR_ONE, given | customer).status_code == 302

        made = api.get(f"/api/payment-links/{proposed['reference']}").json()
        assert made["max_uses"] == 1
        assert made["customer"] == {"reference": "c-7", "email": "bola@example.com"}
        link = PaymentLink.objects.get()
        assert timedelta(minutes=-1) <= link.expires_at - (now + timedelta(days=30)) <= timedelta(minutes=1)
        assert "expires_at" not in browser.get(NEW).context["form"].initial

    def test_says_at_the_field_what_to_enter_and_keeps_the_rest(self, subtests, browser):
        for changes, field, message in [
            ({"amount": ""}, "amount", "Enter an amount such as 2500.00."),
            ({"amount": "99.99"}, "amount", "Enter NGN 100.00 or more."),
            ({"amount": "10.001"}, "amount", "Enter at most 2 decimals for NGN."),
            ({"amount": "1000000000", "quantity_max": "11"}, "quantity_max", "Enter a number up to 100."),
            ({"quantity_max": "four"}, "quantity_max", "Enter a whole number, such as 20."),
            ({"price": "range", "amount_min": "1", "amount_max": "500"}, "amount_min", "Enter NGN 100.00 or more."),
            ({"price": "range", "amount_min": "500", "amount_max": "400"}, "amount_max", "Enter the smallest amount"),
            ({"price": "range", "amount_min": "500", "amount_max": "900", "suggested": "5"}, "suggested", "Enter amounts"),
            ({"price": "free"}, "price", "Select a valid choice."),
            ({"currency": "EUR"}, "currency", "Select a valid choice."),
            ({"max_uses": "0"}, "max_uses", "Enter a number from 1 to 1,000,000."),
            ({"max_uses": "5", "transfer_window": "14400"}, "transfer_window", "Choose 1 hour or less"),
            ({"max_uses": "1", "slug": "bookbinding"}, "slug", "Leave this empty."),
            ({"slug": "Book--Binding"}, "slug", "Use 4 to 40 lowercase letters"),
            ({"expires_at": "2020-01-01T10:00"}, "expires_at", "Enter a time from 5 minutes to 5 years ahead."),
            ({"expires_at": "soon"}, "expires_at", "Enter a date and a time"),
            ({"expires_at": "0001-01-01T00:00"}, "expires_at", ""),
            ({"label_1": "Size", "label_3": "size"}, "key_3", "Two questions have the same name in the API."),
            ({"label_2": "Size", "key_2": "Größe"}, "key_2", "Use up to 40 lowercase letters"),
            ({"key_2": "size"}, "label_2", "Enter the question"),
            ({"redirect_url": "thanks"}, "redirect_url", "This field must be an absolute"),
            ({"payment_method_id": "mine"}, "payment_method_id", "This isn't one of your active dynamic"),
            ({"title": "A\x07b"}, "title", "This field may not hold control characters."),
            ({"reference": ".."}, "reference", "Use 1 to 100 letters"),
        ]:  # fmt: skip
            with subtests.test(changes=changes, field=field):
                answer = browser.post(NEW, NEW_LINK | {"success_message": "See you in May"} | changes)

                assert list(errors(answer)) == [field]
                assert errors(answer)[field][0].startswith(message)
                page = answer.content.decode()
                assert "See you in May" in page
                assert "Check what you entered" in page
                assert f'href="#id_{field}"' in page
                assert PaymentLink.objects.count() == 0

    def test_requires_a_reference_of_a_known_customer(self, browser):
        answer = browser.post(FOR_ONE, NEW_LINK | {"customer_name": "Bola"})

        assert set(errors(answer)) == {"customer_reference", "customer_email"}

    def test_refuses_a_taken_address_and_masks_card_numbers(self, browser, bisi, now):
        link_of(bisi.business, now=now, slug="bookbinding")

        answer = browser.post(NEW, NEW_LINK | {"slug": "bookbinding", "description": orders.GOOD_CARD})

        assert errors(answer) == {"slug": ["This slug is taken. Choose another one."]}
        assert orders.GOOD_CARD not in answer.content.decode()

    def test_preview_shows_the_offer_and_creates_nothing(self, browser, ada):
        given = NEW_LINK | {"title": "Ankara, 6 yards", "amount": "48500", "step": "preview"}

        page = words(browser.post(NEW, given))

        assert f"{ada.business.name} Ankara, 6 yards NGN 48,500.00 Continue" in page
        assert not PaymentLink.objects.exists()

    def test_preview_waits_for_a_valid_amount(self, browser):
        page = words(browser.post(NEW, {"title": "Ankara", "amount": "1.2.3", "step": "preview"}))

        assert "Ankara Amount Continue" in page
        assert "Check what you entered" not in page

    @pytest.mark.parametrize(
        ("changes", "is_open"),
        [
            ({"title": ""}, False),
            ({"title": "", "success_message": "See you"}, True),
            ({"redirect_url": "thanks"}, True),
            ({"title": "", "label_1": "Size"}, True),
        ],
    )
    def test_more_options_are_open_when_something_is_entered_there(self, browser, changes, is_open):
        page = browser.post(NEW, NEW_LINK | changes).content.decode()

        assert ('<details class="fold fold--section" open>' in page) is is_open

    def test_offers_active_dynamic_accounts_of_the_business(self, browser, api, other_api):
        def made(client, order):
            return client.post("/api/virtual-accounts", order).json()["id"]

        mine = made(api, orders.dynamic_account(reference="mine"))
        off = made(api, orders.dynamic_account(reference="off"))
        VirtualAccount.objects.filter(pk=off).update(status="inactive", deactivated_at=timezone.now())
        others = [off, made(api, orders.static_account()), made(other_api, orders.dynamic_account())]

        page = browser.get(NEW).content.decode()

        assert f'<option value="{mine}">mine (NGN)</option>' in page
        assert [each for each in others if each in page] == []


class TestChange:
    @pytest.fixture
    def page(self, link):
        return f"{AREA}{link.pk}/edit/"

    @pytest.fixture
    def stored(self, browser, page):
        """Return what the form submits unless something is changed."""
        form = browser.get(page).context["form"]
        return {field.html_name: value for field in form if (value := field.value())}

    def test_shows_fixed_fields_as_text(self, browser, link, page):
        answer = browser.get(page)

        assert "A new price is a new link" in words(answer)
        assert "Amount NGN 15,000.00" in words(answer)
        assert link.url in words(answer)
        assert not {"amount", "currency", "slug", "reference"} & answer.context["form"].fields.keys()

    def test_changes_what_differs_and_audits_it(self, browser, api, link, page, stored):
        browser.post(page, stored | {"max_uses": "25", "label_1": "Size", "expires_at": "2030-05-02T09:00"})

        made = api.get("/api/payment-links/workshop-may").json()
        assert (made["max_uses"], made["expires_at"]) == (25, "2030-05-02T08:00:00.000Z")
        assert made["custom_fields"] == [{"key": "size", "label": "Size", "required": False}]
        ((actor, target, before, after),) = entries("payment_link.changed")
        assert (actor, target) == ("ada@example.com", "workshop-may")
        assert before == {"custom_fields": None, "expires_at": None, "max_uses": 20}
        assert set(after) == set(before)

    def test_moves_an_end_in_the_hour_that_a_day_has_twice(self, browser, ada, link, page):
        ada.business.time_zone = "Europe/London"
        ada.business.save()
        PaymentLink.objects.filter(pk=link.pk).update(expires_at=datetime(2027, 10, 31, 1, 30, tzinfo=UTC))
        stored = {field.html_name: field.value() or "" for field in browser.get(page).context["form"]}

        assert browser.post(page, stored | {"expires_at": "2027-10-31T02:30"}).status_code == 302

        link.refresh_from_db()
        assert link.expires_at == datetime(2027, 10, 31, 2, 30, tzinfo=UTC)

    def test_leads_to_a_new_link_that_is_like_it(self, browser, ada, now):
        span = {"min": 50_000, "max": 500_000, "suggested": [100_000, 250_050]}
        asked = [{"key": "size", "label": "Size", "required": True}]
        link = link_of(
            ada.business, now=now, amount=..., amount_range=span, custom_fields=asked, slug="library"
        )

        (new,) = re.findall(
            r'href="([^"]+/new/[^"]+)"', browser.get(f"{AREA}{link.pk}/edit/").content.decode()
        )
        form = browser.get(new).context["form"]
        filled = {field.html_name: field.value() or "" for field in form}
        browser.post(NEW, filled | {"amount_min": "600"})

        like = PaymentLink.objects.exclude(pk=link.pk).get()
        assert (like.amount_min, like.amount_max, like.suggested_amounts) == (
            60_000,
            500_000,
            [100_000, 250_050],
        )
        assert (like.title, like.custom_fields) == (link.title, asked)
        assert {like.reference, like.slug}.isdisjoint({link.reference, link.slug})

    def test_ignores_fixed_fields_and_changes_nothing_that_was_not_changed(self, browser, link, page, stored):
        over = timezone.now() - timedelta(days=1)
        order_page = f"https://ada.example/{orders.GOOD_CARD}"  # looks like a card number, so pages mask it
        kept = {"expires_at": over, "transfer_window": 601, "redirect_url": order_page}
        PaymentLink.objects.filter(pk=link.pk).update(**kept)
        stored = {field.html_name: field.value() or "" for field in browser.get(page).context["form"]}

        assert browser.post(page, stored | {"amount": "1", "slug": "mine"}).status_code == 302

        assert PaymentLink.objects.filter(pk=link.pk, amount=1_500_000, **kept).exists()
        assert entries("payment_link.changed") == []

    def test_removes_optional_fields_that_are_emptied(self, browser, api, link, page, stored):
        browser.post(page, stored | {"max_uses": "", "label_1": "Size"})
        filled = {field.html_name: field.value() or "" for field in browser.get(page).context["form"]}
        browser.post(page, filled | {"label_1": ""})

        made = api.get("/api/payment-links/workshop-may").json()
        assert not {"max_uses", "custom_fields"} & made.keys()

    def test_says_at_the_field_how_many_uses_are_taken(self, browser, link, page, stored):
        hold(link, 4)

        answer = browser.post(page, stored | {"max_uses": "3"})

        message = "4 uses are paid or held. Enter 4 or more, or leave it empty."
        assert errors(answer) == {"max_uses": [message]}
        assert answer.context["form"]["max_uses"].value() == "3"

    @pytest.mark.parametrize(
        ("made", "max_uses", "message"),
        [
            ({"slug": "bookbinding"}, "1", "A link with a chosen address"),
            ({"max_uses": 1, "customer": {"reference": "c", "email": "c@x.example"}}, "2", "A link with a known customer"),
        ],
    )  # fmt: skip
    def test_names_the_fixed_field_that_the_limit_does_not_suit(self, browser, ada, made, max_uses, message):
        link = link_of(ada.business, now=clock.now(), **made)

        answer = browser.post(f"{AREA}{link.pk}/edit/", CHANGED_LINK | {"max_uses": max_uses})

        assert [found[0][: len(message)] for found in errors(answer).values()] == [message]
        assert list(errors(answer)) == ["max_uses"]

    def test_refuses_a_form_that_is_older_than_another_change(self, browser, link, page, stored):
        changed = links.change(link_id=link.pk, changes={"max_uses": 30}, actor=OPERATOR, now=clock.now())

        answer = browser.post(page, stored | {"title": "Another"})

        assert "The link was changed after this page was opened." in words(answer)
        link.refresh_from_db()
        assert (link.title, link.max_uses) == (changed.title, 30)


class TestSwitching:
    def test_deactivation_stops_new_attempts_and_lets_pending_ones_end(self, browser, payer, link):
        checkout = begin(payer, link)["Location"]
        hold(link, 1)
        page = f"{AREA}{link.pk}/deactivate/"

        assert "1 pending payment goes on to its own end" in words(browser.get(page))
        assert browser.post(page)["Location"] == f"{AREA}{link.pk}/"

        assert begin(payer, link).status_code == 410
        assert payer.post(f"{checkout}/card", orders.card_form(orders.GOOD_CARD)).status_code == 410
        assert Transaction.objects.count() == 0
        assert entries("payment_link.deactivated") == [("ada@example.com", "workshop-may", {}, {})]

    def test_activation_lets_payers_begin_again(self, browser, payer, link):
        links.deactivate(link_id=link.pk, actor=OPERATOR, now=clock.now())
        page = f"{AREA}{link.pk}/activate/"

        assert "Payers can pay with it again" in words(browser.get(page))
        browser.post(page)

        assert begin(payer, link).status_code == 303
        assert entries("payment_link.activated") == [("ada@example.com", "workshop-may", {}, {})]

    @pytest.mark.parametrize(
        ("columns", "warning"),
        [
            ({"expires_at": datetime(2026, 1, 1, tzinfo=UTC)}, "The link has expired."),
            ({"max_uses": 1, "uses_paid": 1}, "All uses are paid."),
        ],
    )
    def test_activation_warns_where_it_does_not_suffice(self, browser, link, columns, warning):
        PaymentLink.objects.filter(pk=link.pk).update(is_switched_off=True, **columns)

        assert warning in words(browser.get(f"{AREA}{link.pk}/activate/"))

    def test_a_blocked_link_shows_the_reason_and_stays_inactive(self, browser, link):
        links.block(link_id=link.pk, reason="Counterfeit goods", actor=OPERATOR, now=clock.now())
        page = f"{AREA}{link.pk}/activate/"

        for answer in (browser.get(page), browser.post(page)):
            assert "Counterfeit goods" in words(answer)
            assert "Activate link" not in words(answer)

        assert entries("payment_link.activated") == []

    @pytest.mark.parametrize("page", ["", "edit/", "activate/", "deactivate/"])
    def test_links_of_other_businesses_are_not_found(self, other_browser, link, page):
        assert other_browser.get(f"{AREA}{link.pk}/{page}").status_code == 404
        link.refresh_from_db()
        assert not link.is_switched_off
