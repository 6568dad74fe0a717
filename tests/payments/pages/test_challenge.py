"""The payer's 3-D Secure page needs neither JavaScript nor cookies, and accepts any input without errors."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client
from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from payments.models import Challenge, Transaction, WatchedAuthorisation
from payments.services.transactions import expiry
from tests import orders
from tests.payers import refreshed_to

RIGHT_CODE = "123456"

pytestmark = pytest.mark.django_db


@pytest.fixture
def payer():
    """A browser without cookies that fails on server errors."""
    return Client(raise_request_exception=False, enforce_csrf_checks=True, headers={"Accept": "text/html"})


@pytest.fixture
def challenge(api):
    """Start a payment with a challenge and return the path of the payer's page."""

    def start(**changes):
        source = orders.card_source(pan=orders.CHALLENGED_CARD)
        payment = api.post("/api/payments", orders.card_payment(source=source, **changes)).json()
        assert payment["status"] == "pending", payment
        return urlsplit(payment["redirect_link"]).path

    return start


def approve(payer, path, code=RIGHT_CODE):
    return payer.post(path, {"action": "approve", "code": code}, follow=True)


def decline(payer, path):
    return payer.post(path, {"action": "decline", "code": ""}, follow=True)


def watched(payment):
    now = timezone.now()
    return WatchedAuthorisation.objects.create(
        id=new_id(now), transaction=payment, opened_at=now, until=now + timedelta(days=7), next_look_at=now
    )


def let_time_pass():
    Transaction.objects.update(expires_at=timezone.now() - timedelta(seconds=1))


class TestPage:
    def test_shows_merchant_amount_and_card(self, challenge, payer):
        page = payer.get(challenge(amount=123_456)).content.decode()

        assert "Ada Books" in page
        assert "NGN 1,234.56" in page
        assert "Visa" in page
        assert "2503" in page
        assert orders.CHALLENGED_CARD not in page

    def test_shows_the_merchants_name_as_text(self, ada, challenge, payer):
        ada.business.name = "<script>alert(1)</script> & 'Sons' \"Ltd\""
        ada.business.save()

        open_page = challenge()
        page = payer.get(open_page).content.decode()
        decline(payer, open_page)
        ended = payer.get(open_page).content.decode()

        assert "<script" not in page + ended
        assert "&lt;script&gt;alert(1)&lt;/script&gt; &amp; &#x27;Sons&#x27; &quot;Ltd&quot;" in page
        assert "&lt;script&gt;" in ended

    def test_escapes_the_return_url(self, challenge, payer):
        path = challenge(redirect_url="https://shop.example/back?a='x'&b=<b>")
        decline(payer, path)

        page = payer.get(path).content.decode()

        assert "<b>" not in page
        assert "a=&#x27;x&#x27;&amp;b=&lt;b&gt;&amp;reference=" in page

    def test_has_labelled_controls(self, challenge, payer):
        page = payer.get(challenge()).content.decode()

        assert '<label class="box__label" for="code">One-time code</label>' in page
        code = re.search(r'<input [^>]*id="code"[^>]*>', page).group()
        assert 'inputmode="numeric"' in code
        assert 'autocomplete="one-time-code"' in code
        assert " required autofocus" in code
        approve_button, decline_button = re.findall(r"<button [^>]*>", page)
        assert 'name="action" value="approve"' in approve_button
        assert 'name="action" value="decline" formnovalidate' in decline_button

    def test_shows_the_remaining_time(self, challenge, payer):
        path = challenge()
        assert "expires in 15 minutes" in payer.get(path).content.decode()

        Transaction.objects.update(expires_at=timezone.now() + timedelta(seconds=20))
        assert "expires in 1 minute." in payer.get(path).content.decode()

    def test_shows_the_code_in_the_sandbox_only(self, challenge, payer, settings):
        path = challenge()
        assert RIGHT_CODE in payer.get(path).content.decode()

        settings.SANDBOX = False
        assert RIGHT_CODE not in payer.get(path).content.decode()

    def test_needs_no_cookie_and_sets_none(self, challenge, payer):
        path = challenge()

        shown, answered = payer.get(path), payer.post(path, {"code": "000000"})

        assert not payer.cookies
        assert not shown.cookies
        assert not answered.cookies

    def test_is_not_cached_by_browsers(self, challenge, payer):
        path = challenge()

        for answer in (payer.get(path), approve(payer, path)):
            assert "no-store" in answer["Cache-Control"]
            assert answer["Referrer-Policy"] == "no-referrer"

    def test_of_an_unknown_token_is_not_found(self, subtests, payer):
        for token in ["no-such-token", "%00", "a%00b", "x" * 500, "..%2f..", "%ff%fe", "%F0%9F%92%A9", "'--"]:
            for method in ["get", "post"]:
                with subtests.test(token=token, method=method):
                    answer = getattr(payer, method)(f"/3ds/{token}")

                    assert answer.status_code == 404
                    assert answer["Content-Type"].startswith("text/html")
                    assert "Page not found" in answer.content.decode()


class TestApprove:
    def test_with_the_right_code_pays_and_returns_to_the_merchant(self, challenge, payer):
        path = challenge()

        answer = approve(payer, path)

        payment = Transaction.objects.get()
        assert answer.redirect_chain == [(f"{path}?answered", 303)]
        assert payment.status == "success"
        assert refreshed_to(answer) == (
            f"https://shop.example/back?reference={payment.reference}&id={payment.pk}&status=success"
        )

    def test_redirects_a_program_to_the_merchant(self, challenge):
        answer = Client().post(challenge(), {"code": RIGHT_CODE})

        payment = Transaction.objects.get()
        assert (answer.status_code, answer["Location"]) == (
            303,
            f"https://shop.example/back?reference={payment.reference}&id={payment.pk}&status=success",
        )

    def test_accepts_a_code_with_spaces(self, challenge, payer):
        approve(payer, challenge(), code=" 123 456 ")

        assert Transaction.objects.get().status == "success"

    def test_keeps_the_merchants_query_and_fragment(self, challenge, payer):
        answer = approve(payer, challenge(redirect_url="https://shop.example/back?cart=7&flag&x=%FF+%20#top"))

        address = urlsplit(refreshed_to(answer))
        assert address.query.startswith("cart=7&flag&x=%FF+%20&reference=")
        assert address.fragment == "top"
        assert parse_qs(address.query)["status"] == ["success"]

    def test_leaves_the_rest_of_the_url_byte_for_byte(self, challenge, payer):
        answer = approve(payer, challenge(redirect_url="HTTPS://shop.example/a%2fb/../%40me?#"))

        before, _, query = refreshed_to(answer).partition("?")
        assert before == "HTTPS://shop.example/a%2fb/../%40me"
        assert query.endswith("&status=success#")

    @pytest.mark.parametrize(
        ("before", "kept"),
        [
            ("status=success", ""),
            ("id=1&id=2&reference=x&status", ""),
            ("%73tatus=success&cart=7", "cart=7&"),
            ("a=%FF&status=success&b=status%3Dsuccess&&", "a=%FF&b=status%3Dsuccess&&&"),
            ("Status=x&ids=1", "Status=x&ids=1&"),
        ],
    )
    def test_replaces_the_parameters_that_it_adds(self, challenge, payer, before, kept):
        answer = approve(payer, challenge(redirect_url=f"https://shop.example/back?{before}", amount=10_051))

        payment = Transaction.objects.get()
        assert urlsplit(refreshed_to(answer)).query == (
            f"{kept}reference={payment.reference}&id={payment.pk}&status=failed"
        )

    def test_redirects_to_the_longest_url(self, challenge, payer):
        answer = approve(payer, challenge(redirect_url="https://shop.example/?" + "q" * 2026))

        assert "q" * 2026 in refreshed_to(answer)

    def test_outcome_depends_on_the_amount(self, challenge, payer):
        answer = approve(payer, challenge(amount=10_051))

        payment = Transaction.objects.get()
        assert (payment.status, payment.response_code) == ("failed", "20051")
        assert "status=failed" in refreshed_to(answer)

    def test_leaves_the_payment_pending_when_the_answer_is_lost(self, challenge, payer):
        path = challenge(amount=10_098)

        answer = approve(payer, path)

        assert Transaction.objects.get().status == "pending"
        assert "status=pending" in refreshed_to(answer)
        assert "Your bank is still processing this payment" in payer.get(path).content.decode()

    def test_reserves_a_payment_with_a_later_capture(self, challenge, payer):
        path = challenge(capture=False)

        approve(payer, path)

        assert "The amount is reserved on your card" in payer.get(path).content.decode()


class TestDecline:
    def test_fails_the_payment_and_returns_to_the_merchant(self, challenge, payer):
        answer = decline(payer, challenge())

        payment = Transaction.objects.get()
        assert (payment.status, payment.response_code) == ("failed", "20151")
        assert "status=failed" in refreshed_to(answer)


class TestWatched:
    """Its acquirer may have charged it all the same, and then gives the charge back."""

    @pytest.mark.parametrize(
        ("code", "heading"),
        [
            ("20151", "This payment was not confirmed"),
            ("20030", "This payment was not made"),
            ("20051", "Your bank declined this card"),
        ],
    )
    def test_page_does_not_say_that_no_money_has_left(self, challenge, payer, code, heading):
        path = challenge()
        decline(payer, path)
        Transaction.objects.update(response_code=code)
        watch = watched(Transaction.objects.get())

        page = unescape(payer.get(path).content.decode())

        assert heading in page
        assert "If your bank shows a charge for it, you get the money back." in page
        assert "No money has left" not in page

        watch.end(now=timezone.now())
        assert "No money has left your card." in unescape(payer.get(path).content.decode())


class TestWrongCode:
    def test_is_counted_and_reported(self, challenge, payer):
        path = challenge()

        answer = approve(payer, path, code="000000")

        page = answer.content.decode()
        assert answer.redirect_chain == [(f"{path}?refused=wrong-code", 303)]
        assert "You have 2 attempts left." in page
        assert 'role="alert"' in page
        assert "<title>Error: " in page
        assert 'aria-describedby="code-error code-hint" aria-invalid="true"' in page
        assert "You have 1 attempt left." in approve(payer, path, code="000000").content.decode()
        assert "Incorrect code" not in payer.get(path).content.decode()

    def test_cannot_be_claimed_by_an_address(self, challenge, payer):
        assert "Incorrect code" not in payer.get(f"{challenge()}?refused=wrong-code").content.decode()

    def test_fails_the_payment_the_third_time(self, challenge, payer):
        path = challenge()

        answers = [approve(payer, path, code="000000") for _ in range(3)]

        payment = Transaction.objects.get()
        assert [refreshed_to(answer) for answer in answers[:2]] == ["", ""]
        assert (payment.status, payment.response_code) == ("failed", "20151")
        assert "status=failed" in refreshed_to(answers[-1])

    def test_allows_the_right_one_afterwards(self, challenge, payer):
        path = challenge()
        approve(payer, path, code="000000")

        approve(payer, path)

        assert Transaction.objects.get().status == "success"

    @pytest.mark.parametrize(
        "form",
        [
            {},
            {"action": "approve"},
            {"action": "approve", "code": ""},
            {"action": "approve", "code": "9" * 60_000},
            {"action": "approve", "code": "123456\x00"},
            {"action": "approve", "code": "\uff11\uff12\uff13\uff14\uff15\uff16"},
            {"action": "approve", "code": "\N{GRINNING FACE}" * 6},
            {"action": "something", "code": "000000"},
            {"action": ["approve", "decline"], "code": ["1", "2"], "other": "field"},
        ],
        ids=lambda form: str(form)[:40],
    )
    def test_may_be_anything(self, challenge, payer, form):
        path = challenge()

        answer = payer.post(path, form)

        assert answer.status_code == 303
        assert Transaction.objects.get().status in {"pending", "failed"}

    @pytest.mark.parametrize(
        ("body", "content_type"),
        [
            (b"", "application/x-www-form-urlencoded"),
            (b"code=%00%FF%ZZ&&&==", "application/x-www-form-urlencoded"),
            (b"\x00\xff\xfe", "application/octet-stream"),
            (b'{"action": "approve"}', "application/json"),
            (b"--x\r\nbroken", "multipart/form-data; boundary=x"),
            (b"", "multipart/form-data"),
            (b"code=" + b"9" * 70_000, "application/x-www-form-urlencoded"),
            (b"&".join(b"a=%d" % n for n in range(2_000)), "application/x-www-form-urlencoded"),
            (b"code=123456", "application/x-www-form-urlencoded; charset=no-such"),
        ],
    )
    def test_in_any_body_causes_no_error(self, challenge, payer, body, content_type):
        path = challenge()

        answer = payer.generic("POST", path, body, content_type=content_type)

        assert answer.status_code in {303, 400}
        assert Transaction.objects.get().status in {"pending", "success"}

    @pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "TRACE", "OPTIONS"])
    def test_other_methods_change_nothing(self, challenge, payer, method):
        path = challenge()

        answer = payer.generic(method, path, b"action=decline")

        assert answer.status_code in {200, 405}
        assert Transaction.objects.get().status == "pending"


class TestFinishedPage:
    @pytest.mark.parametrize(
        ("action", "heading", "status"),
        [(approve, "Payment approved", "success"), (decline, "This payment was not confirmed", "failed")],
    )
    def test_shows_the_result_and_a_link_back(self, challenge, payer, action, heading, status):
        path = challenge()
        action(payer, path)

        answer = payer.get(path)

        page = unescape(answer.content.decode())
        assert answer.status_code == 200
        assert heading in page
        assert "<form" not in page
        assert re.search(rf'href="https://shop\.example/back\?[^"]*status={status}"', page)
        assert "Return to <bdi>Ada Books</bdi>" in page

    def test_accepts_no_second_answer(self, challenge, payer):
        path = challenge()
        approve(payer, path)

        answer = decline(payer, path)

        assert answer.redirect_chain == [(path, 303)]
        assert refreshed_to(answer) == ""
        assert "Payment approved" in answer.content.decode()
        assert Transaction.objects.get().status == "success"


class TestExpiredPage:
    def test_says_so_before_the_merchant_is_notified(self, challenge, payer):
        path = challenge()
        let_time_pass()

        page = payer.get(path).content.decode()

        assert "This page has expired" in page
        assert "<form" not in page

    def test_accepts_no_answer(self, challenge, payer):
        path = challenge()
        let_time_pass()

        for answer in (approve(payer, path), decline(payer, path), approve(payer, path, code="000000")):
            assert answer.redirect_chain == [(path, 303)]
            assert "This page has expired" in answer.content.decode()
        assert Transaction.objects.get().status == "pending"
        assert Challenge.objects.get().wrong_codes == 0

    def test_says_so_afterwards_too(self, challenge, payer):
        path = challenge()
        let_time_pass()
        now = timezone.now()
        assert list(expiry.expire(expiry.overdue(now=now), clock=lambda: now)) == [True]

        page = unescape(payer.get(path).content.decode())

        assert "This page has expired" in page
        assert "status=failed" in page
