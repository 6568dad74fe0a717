"""The sandbox page: scenarios played with the user's own key, and buttons that advance the clock."""

import json
from datetime import timedelta
from urllib.parse import urlencode

import pytest
from django.utils import timezone

from dashboard.sandbox import history
from dashboard.sandbox.views import ADVANCED
from kit.money.money import money
from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest, AuditEntry
from payments.models import Challenge, SettlementBatch, Transaction
from payments.sandbox.scenarios import find, scenarios
from payments.services.sandbox.sandbox_clock import Advanced
from tests import orders
from tests.dashboard.people import signed_in
from tests.dashboard.test_page_cost import PAGE
from tests.developer_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.links import begin, make_link, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD
from tests.refunds import pay
from tests.transactions import captured_payment, challenged_payment
from tests.webhooks.rows import acquire, make_delivery, make_endpoint, record
from tests.weighing import weigh
from webhooks.models import Category, Delivery

pytestmark = pytest.mark.django_db

SANDBOX = "/dashboard/sandbox/"


def send(client, document, scenario="payment.success", **query):
    body = document if isinstance(document, str) else json.dumps(document)
    return client.post(
        f"{SANDBOX}?{urlencode({'scenario': scenario} | query)}", {"body": body, "play": "step"}
    )


def page_of(client, scenario, **query):
    return client.get(SANDBOX, {"scenario": scenario} | query)


def play_all(client, scenario):
    text = page_of(client, scenario).context["text"]
    return client.post(f"{SANDBOX}?scenario={scenario}", {"body": text, "play": "all"})


def next_page(client, answer):
    """Return the page of the next step."""
    return client.get(f"{SANDBOX}?{answer.context['following'].query}")


def send_shown(client, page):
    """Send the request that a page shows."""
    return client.post(
        f"{SANDBOX}?{page.context['place'].query}", {"body": page.context["text"], "play": "step"}
    )


class TestPaymentLinks:
    def test_shows_the_demo_link_with_its_address(self, browser, api):
        assert b"/l/" not in browser.get(SANDBOX).content

        link = make_link(api, reference="demo-link")

        assert link.url in browser.get(SANDBOX).content.decode()

    def test_lets_attempts_expire(self, browser, api):
        link = make_link(api)
        waiting = [pay_by_card(begin(link), CHALLENGED_CARD), pay_by_transfer(begin(link))]
        pay_by_card(begin(make_link(api)))
        page = browser.get(SANDBOX)
        assert page.context["attempts"] == waiting[::-1]
        assert b"Let it expire now" in page.content

        for each in waiting:
            browser.post(f"{SANDBOX}expire/{each.pk}/")

        link.refresh_from_db()
        assert (link.uses_held, link.uses_paid) == (0, 0)
        assert {each.status for each in Transaction.objects.filter(payment_link=link)} == {"failed"}
        assert browser.get(SANDBOX).context["attempts"] == []


class TestScenarios:
    def test_of_the_chosen_flow_are_listed_beside_links_to_the_other_flows(self, browser, ada):
        page = page_of(browser, "payout.failed.51").content.decode()

        assert "?scenario=payout.reversed" in page
        assert "?scenario=card_check.success" in page
        assert "?scenario=card_check.failed.20054" not in page

    def test_are_all_listed_by_flow(self, browser, ada):
        listed = [each for group in browser.get(SANDBOX).context["groups"] for each in group.scenarios]

        assert {each.name for each in listed} == {each.name for each in scenarios()}

    @pytest.mark.parametrize(("search", "found"), [("20013", ["payment.mismatch"]), ("nothing like it", [])])
    def test_are_searched(self, browser, ada, search, found):
        page = browser.get(SANDBOX, {"q": search})

        assert [each.name for group in page.context["groups"] for each in group.scenarios] == found

    @pytest.mark.long
    @pytest.mark.parametrize("name", [each.name for each in scenarios()])
    def test_end_as_they_say_when_played_whole(self, browser, ada, name):
        scenario = find(name)

        answer = play_all(browser, name)

        exchanges = {each.place.step.id: each for each in answer.context["exchanges"]}
        assert len(exchanges) == len(scenario.steps)
        assert all(each.is_as_expected for each in exchanges.values())
        shown = exchanges[scenario.ends.step].call.document
        assert shown["response_code"] == scenario.ends.outcome.code
        assert Audit(answer.content.decode()).findings == []

    @pytest.mark.parametrize(
        "name", ["payment.3ds.approved", "payment.success.static_account", "refund.pending.lost_answer"]
    )
    def test_end_as_they_say_when_played_step_by_step(self, browser, ada, name):
        scenario = find(name)
        page = page_of(browser, name)

        for number, step in enumerate(scenario.steps):
            assert page.context["place"].step is step
            answer = send_shown(browser, page)
            assert answer.context["exchange"].is_as_expected
            if number + 1 < len(scenario.steps):
                page = next_page(browser, answer)

        assert answer.context["following"] is None
        assert answer.context["call"].document["response_code"] == scenario.ends.outcome.code

    def test_stop_at_a_step_that_ends_differently(self, browser, ada):
        order = orders.card_payment(amount=10_051, capture=False)

        answer = browser.post(
            f"{SANDBOX}?scenario=payment.captured.part", {"body": json.dumps(order), "play": "all"}
        )

        (exchange,) = answer.context["exchanges"]
        assert exchange.call.document["response_code"] == "20051"
        assert "the response that the scenario expects" in answer.content.decode()

    @pytest.mark.parametrize(
        "known", [{}, {"pay.reference": ".."}, {"pay.reference": "a/b"}, {"pay.reference": "x?y"}]
    )
    def test_begin_with_the_first_step_if_a_value_is_missing_or_no_reference(self, browser, ada, known):
        page = page_of(browser, "payment.captured.part", step="capture", **known)

        assert page.context["place"].step.id == "pay"

    def test_keep_the_token_of_the_payers_page_out_of_addresses(self, browser, ada):
        answer = send_shown(browser, page_of(browser, "payment.3ds.approved"))

        token = Challenge.objects.get().token
        assert token not in answer.context["following"].query
        assert token in next_page(browser, answer).context["payer_page"]


class TestRequest:
    def test_is_sent_through_the_real_api(self, browser, ada):
        answer = send_shown(browser, page_of(browser, "payment.success"))

        made = Transaction.objects.get()
        assert made.business == ada.business
        assert answer.context["call"].document["response_code"] == made.response_code == "10000"
        assert "Response: </span>201 Created" in answer.content.decode()

    def test_is_kept_as_typed_except_unknown_card_numbers(self, browser, ada):
        order = orders.card_payment(amount=-1)
        order["source"]["pan"] = "5555555555554444"

        page = send(browser, order)

        assert page.context["call"].http_status == 400
        assert "5555555555554444" not in page.content.decode()
        assert order["reference"] in page.context["text"]
        assert orders.GOOD_CARD in send(browser, orders.card_payment(amount=-1)).context["text"]

    @pytest.mark.parametrize("language", ["curl", "python", "node"])
    def test_is_shown_as_code(self, browser, ada, language):
        page = page_of(browser, "payment.success")

        sample = next(each for each in page.context["samples"] if each.id == language)

        reference = json.loads(page.context["text"])["reference"]
        assert reference in sample.code
        assert f'id="tab-{language}"' in page.content.decode()
        assert ada.secret not in page.content.decode()

    def test_shows_no_card_number_and_no_secret(self, browser, ada):
        answer = send(browser, orders.card_payment())

        call = answer.context["call"]
        assert "X-Signature" in call.request
        assert orders.GOOD_CARD not in call.request + call.response + call.string_to_sign
        assert '"408"' not in call.request
        assert ada.secret not in answer.content.decode()

    def test_shows_the_resulting_webhook(self, browser, ada):
        make_endpoint(business=ada.business)

        (delivery,) = send(browser, orders.card_payment()).context["deliveries"]

        assert delivery.event == "payment.success"

    @pytest.mark.parametrize("body", ["", "{", "[]", "\x00", '{"request_type": "payment"}', "x" * 8001])
    def test_never_fails_on_bad_input(self, browser, ada, body):
        answer = send(browser, body)

        assert answer.status_code == 200
        assert Audit(answer.content.decode()).findings == []
        assert not Transaction.objects.exists()

    def test_calls_no_other_url(self, browser, ada):
        browser.post(SANDBOX, {"body": "{}", "target": "/api/payouts", "method": "GET"})
        request_log.flush()

        assert set(ApiRequest.objects.values_list("method", "target")) == {("POST", "/api/payments")}

    def test_explains_a_missing_key(self, browser, ada):
        ApiKey.objects.update(expires_at=timezone.now() - timedelta(days=1))

        assert (
            "You have no active API key with full access"
            in send(browser, orders.card_payment()).content.decode()
        )
        assert not Transaction.objects.exists()

    def test_does_not_exist_in_production(self, browser, settings):
        settings.SANDBOX = False

        assert browser.get(SANDBOX).status_code == 404


class TestHistory:
    def test_has_names_codes_and_links_of_the_last_calls(self, browser, ada):
        play_all(browser, "payment.captured.part")
        send(browser, "{")
        page = browser.get(SANDBOX)

        refused, captured = page.context["history"]
        assert (captured.scenario.name, captured.title, captured.code) == (
            "payment.captured.part", "Capture the payment", "10000",
        )  # fmt: skip
        assert captured.link == f"/dashboard/payments/{Transaction.objects.get().pk}/"
        assert (refused.status, refused.link) == ("400 Bad Request", "")
        stored = json.dumps(dict(browser.session))
        assert orders.GOOD_CARD not in stored
        assert "408408" not in stored

    def test_is_short(self, browser, ada):
        for _ in range(history.KEPT + 2):
            send(browser, "{")

        assert len(browser.get(SANDBOX).context["history"]) == history.KEPT


class TestWebhook:
    def test_of_every_step_is_shown(self, browser, ada):
        make_endpoint(business=ada.business, events=Category.values)

        answer = play_all(browser, "refund.part")

        assert [each.event for each in answer.context["deliveries"]] == ["payment.success", "refund.success"]
        assert "Retry now" in answer.content.decode()

    def test_without_an_endpoint_says_where_to_add_one(self, browser, ada):
        assert "Add your webhook URL" in send(browser, orders.card_payment()).content.decode()


class TestSettling:
    def test_releases_everything_of_the_business(self, browser, ada, api, other_api):
        pay(api), pay(other_api)

        answer = browser.post(f"{SANDBOX}settle/", follow=True)

        batch = SettlementBatch.objects.get()
        assert (batch.business, batch.state) == (ada.business, "released")
        assert f"1 settlement released. {money(batch.net, 'NGN')} credited" in answer.content.decode()
        assert AuditEntry.objects.filter(action="sandbox.day_closed", business=ada.business).count() == 1

    def test_without_payments_says_so(self, browser, ada):
        answer = browser.post(f"{SANDBOX}settle/", follow=True)

        assert "Nothing to settle" in answer.content.decode()

    def test_does_not_exist_in_production(self, browser, settings):
        settings.SANDBOX = False

        assert browser.post(f"{SANDBOX}settle/").status_code == 404


class TestExpiry:
    def test_expires_payments_that_await_the_payer(self, browser, ada):
        waiting = challenged_payment(business=ada.business, now=timezone.now())

        browser.post(f"{SANDBOX}expire/{waiting.pk}/")

        waiting.refresh_from_db()
        assert waiting.status == "failed"

    def test_leaves_finished_payments_unchanged(self, browser, ada):
        done = captured_payment(business=ada.business, now=timezone.now())

        answer = browser.post(f"{SANDBOX}expire/{done.pk}/", follow=True)

        done.refresh_from_db()
        assert "This payment is not waiting for anything that can be advanced." in answer.content.decode()
        assert done.status == "success"

    def test_says_of_each_event_what_happened(self, browser, api):
        payment = api.post("/api/payments", orders.card_payment(amount=20_077)).json()

        answers = [browser.post(f"{SANDBOX}expire/{payment['id']}/", follow=True) for _ in range(2)]

        assert all("The dispute was advanced." in each.content.decode() for each in answers)
        assert set(ADVANCED) == set(Advanced)


class TestRetry:
    def test_reports_a_delivery_without_a_planned_attempt(self, browser, ada):
        delivery = make_delivery(make_endpoint(business=ada.business), state="dead")

        answer = browser.post(f"{SANDBOX}retry/{delivery.pk}/", follow=True)

        assert (
            "No attempt of this event is planned for later. It is dead. You can resend it."
            in answer.content.decode()
        )

    def test_is_named_at_the_attempt_that_it_advanced(self, browser, ada):
        delivery = make_delivery(make_endpoint(business=ada.business))
        at = timezone.now()
        record(acquire(at=at), at=at)
        browser.post(f"{SANDBOX}retry/{delivery.pk}/")
        at += timedelta(seconds=3)
        record(acquire(at=at), at=at)
        Delivery.objects.filter(pk=delivery.pk).update(next_attempt_at=at)
        record(acquire(at=at), at=at)  # on time

        shown = browser.get(f"/dashboard/webhooks/deliveries/{delivery.pk}/").content.decode()

        assert shown.count("It was advanced in the sandbox.") == 1
        assert shown.count("after the previous attempt") == 2


class TestViewer:
    def test_sends_and_settles_nothing(self, ada):
        viewer = signed_in(MemberFactory(business=ada.business, role="viewer").user)

        assert send(viewer, orders.card_payment()).status_code == 403
        assert viewer.post(f"{SANDBOX}settle/").status_code == 403
        page = viewer.get(SANDBOX).content.decode()
        assert "Send request" not in page
        assert "Settle now" not in page


class TestPage:
    @pytest.mark.parametrize("scenario", ["payment.success", "</script>", "\x00", "payment.mismatch"])
    def test_is_well_formed_for_every_scenario(self, browser, ada, scenario):
        shown = page_of(browser, scenario, q=scenario).content.decode()

        assert Audit(shown).findings == []

    @pytest.mark.long
    @pytest.mark.parametrize(
        "name", ["payment.success", "payment.3ds.wrong_code", "refund.part", "transfer.unapplied"]
    )
    def test_stays_light_with_an_answer_webhooks_and_a_full_history(self, browser, ada, name):
        make_endpoint(business=ada.business, events=Category.values)
        for _ in range(history.KEPT):
            send(browser, "{")

        weight = weigh(play_all(browser, name).content.decode(), lambda path: browser.get(path).getvalue())

        assert weight.page <= PAGE, weight


@pytest.mark.parametrize("needed", [True, False])
def test_page_says_that_payouts_need_no_balance(browser, settings, needed):
    settings.PAYOUT_REQUIRES_BALANCE = needed

    assert ("so it can go below zero" in browser.get(SANDBOX).content.decode()) is not needed
