"""Sign-in: success, failure, throttling and messages."""

import re
from datetime import timedelta

import pytest
from django.conf import settings as configured
from django.core import mail
from django.test import Client
from freezegun import freeze_time

from dashboard.account.safe_redirect import safe_path
from dashboard.models import PasswordResetRequest
from dashboard.tasks import mail_password_resets
from merchants.models import AuditEntry, Member
from merchants.people.request_actors import client_address
from tests.dashboard.conftest import PASSWORD
from tests.factories import MemberFactory, UserFactory
from tests.frozen_redis import frozen_cache

pytestmark = pytest.mark.django_db

LOGIN = "/dashboard/login/"
REFUSAL = "Incorrect email or password"
PATHS = ["/dashboard/", "/dashboard/?page=2", "/admin/"]
TRAPS = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "http:evil.example",
    "javascript:alert(1)",
    "/\t/evil.example",
    "dashboard/",
    "",
]


def sign_in(client, email="ada@example.com", password=PASSWORD, **extra):
    headers = extra.pop("headers", None)
    address = extra.pop("address", "192.0.2.1")
    form = {"email": email, "password": password, **extra}
    return client.post(LOGIN, form, REMOTE_ADDR=address, headers=headers)


def fail(client, times, **extra):
    return [sign_in(client, password="wrong", **extra).status_code for _ in range(times)]


def request_reset(client, *, email="ada@example.com", address="192.0.2.1"):
    return client.post("/dashboard/login/forgotten/", {"email": email}, REMOTE_ADDR=address).status_code


def entries():
    return list(AuditEntry.objects.order_by("pk").values_list("action", "actor", "business__name", "address"))


class TestSignIn:
    @pytest.mark.parametrize(
        "email",
        ["ada@example.com", "ADA@Example.COM", "  ada@example.com ", "\u2068ada@example.com\u2069\u00a0"],
    )
    def test_accepts_the_email_in_any_case(self, visitor, ada_member, email):
        answer = sign_in(visitor, email)

        assert (answer.status_code, answer["Location"]) == (302, "/dashboard/")
        assert visitor.get("/dashboard/").status_code == 200

    def test_rotates_the_session_key(self, visitor, ada_member):
        session = visitor.session
        session["planted"] = "before"
        session.save()
        before = session.session_key

        sign_in(visitor)

        assert visitor.session.session_key != before

    def test_requires_a_csrf_token(self, ada_member):
        answer = sign_in(Client(enforce_csrf_checks=True))

        assert answer.status_code == 403
        assert b"This form has expired" in answer.content
        assert "unsafe" not in answer["Content-Security-Policy"]

    def test_checks_the_origin_of_a_form(self, visitor):
        assert visitor.get(LOGIN)["Referrer-Policy"] == "same-origin"

    def test_is_not_cached(self, visitor):
        assert "no-store" in visitor.get(LOGIN)["Cache-Control"]

    def test_redirects_signed_in_users(self, browser):
        assert browser.get(LOGIN)["Location"] == "/dashboard/"


class TestRejection:
    @pytest.mark.parametrize(
        ("email", "password"),
        [
            ("ada@example.com", "wrong"),
            ("ada@example.com", ""),
            ("unknown@example.com", PASSWORD),
            ("closed@example.com", PASSWORD),
            ("not an e-mail", PASSWORD),
            ("ada@example.com\x00", PASSWORD),
            ("", ""),
            ("<script>alert(1)</script>@example.com", "x" * 2000),
        ],
    )
    def test_shows_the_same_message_for_every_reason(self, visitor, ada_member, email, password):
        UserFactory(email="closed@example.com", password=PASSWORD, is_active=False)

        answer = sign_in(visitor, email, password)

        page = answer.content.decode()
        assert answer.status_code == 200
        assert page.count('role="alert"') == 1
        assert REFUSAL in page
        assert "<title>Error: Sign in" in page
        assert "<script>" not in page
        assert visitor.get("/dashboard/").status_code == 302

    def test_keeps_the_email_and_not_the_password(self, visitor, ada_member):
        page = sign_in(visitor, password="wrong-password").content.decode()

        assert 'value="ada@example.com"' in page
        assert "wrong-password" not in page


class TestThrottling:
    def test_stops_at_five_failures_of_an_account_from_one_address(self, visitor, ada_member):
        statuses = [fail(visitor, 1, email=email)[0] for email in ["ada@example.com", "ADA@example.com"] * 3]

        assert statuses == [200] * 5 + [429]

    def test_does_not_lock_the_account_at_other_addresses(self, visitor, ada_member):
        fail(visitor, 6)

        assert sign_in(Client(), address="198.51.100.7").status_code == 302

    def test_stops_at_thirty_failures_of_an_account_from_many_addresses(self, visitor, ada_member):
        statuses = [fail(visitor, 1, address=f"192.0.2.{number}")[0] for number in range(1, 32)]

        assert statuses == [200] * 30 + [429]
        assert sign_in(Client(), address="198.51.100.7").status_code == 429

    def test_stops_at_a_hundred_failures_of_an_account_in_a_day(self, visitor, ada_member):
        statuses = []
        with freeze_time("2026-01-01T12:00:00Z") as clock:
            for number in range(102):
                statuses += fail(visitor, 1, address=f"192.0.2.{number}")
                clock.tick(timedelta(minutes=1))

        assert statuses.index(429) == 100

    def test_counts_a_network_of_ipv6_as_one_address(self, visitor, ada_member):
        statuses = [fail(visitor, 1, address=f"2001:db8::{number}")[0] for number in range(1, 7)]

        assert statuses == [200] * 5 + [429]

    def test_applies_to_the_right_password_too(self, visitor, ada_member):
        fail(visitor, 5)

        answer = sign_in(visitor)

        assert answer.status_code == 429
        assert visitor.get("/dashboard/").status_code == 302

    def test_returns_retry_after(self, visitor, ada_member):
        with freeze_time("2026-01-01T12:00:00Z"):
            fail(visitor, 5)
        with freeze_time("2026-01-01T12:05:00Z"):
            answer = sign_in(visitor)

        assert answer["Retry-After"] == "601"
        assert "12:15:00 UTC" in answer.content.decode()
        assert REFUSAL not in answer.content.decode()

    def test_ends_after_fifteen_minutes(self, visitor, ada_member):
        with freeze_time("2026-01-01T12:00:00Z") as clock:
            fail(visitor, 5)
            clock.tick(timedelta(minutes=15, seconds=1))

            assert sign_in(visitor).status_code == 302

    def test_stops_at_twenty_failures_of_an_address(self, visitor, ada_member):
        statuses = [fail(visitor, 1, email=f"guess{number}@example.com")[0] for number in range(21)]

        assert statuses == [200] * 20 + [429]
        assert sign_in(visitor).status_code == 429
        assert sign_in(visitor, address="192.0.2.2").status_code == 302

    def test_does_not_count_success(self, visitor, ada_member):
        assert {sign_in(Client()).status_code for _ in range(25)} == {302}

    def test_keeps_counting_failures_after_a_success(self, visitor, ada_member):
        fail(visitor, 4)
        sign_in(Client())

        assert fail(visitor, 2) == [200, 429]

    def test_does_not_affect_other_users(self, visitor, ada_member, bisi_member):
        fail(visitor, 5)

        assert sign_in(visitor, "bisi@example.com").status_code == 302


class TestKnownDevice:
    @pytest.fixture
    def device(self, ada_member):
        """A signed-out browser that has signed in before."""
        client = Client()
        sign_in(client)
        client.post("/dashboard/logout/")
        return client

    def test_is_not_locked_out_by_others_at_the_same_address_or_elsewhere(self, device):
        fail(Client(), 6)
        for number in range(1, 32):
            fail(Client(), 1, address=f"198.51.100.{number}")
        assert sign_in(Client(), address="203.0.113.9").status_code == 429

        assert sign_in(device).status_code == 302

    def test_has_a_limit_of_its_own(self, device):
        assert fail(device, 11) == [200] * 10 + [429]
        assert sign_in(Client()).status_code == 302  # its failures are counted separately

    def test_applies_to_the_account_that_signed_in_only(self, device, bisi_member):
        assert fail(device, 6, email="bisi@example.com") == [200] * 5 + [429]

    def test_can_be_shared_by_two_users(self, device, bisi_member):
        sign_in(device, "bisi@example.com")
        device.post("/dashboard/logout/")
        fail(Client(), 6)
        fail(Client(), 6, email="bisi@example.com")

        assert sign_in(device).status_code == 302

    def test_is_unknown_after_the_password_changes(self, device, ada_member):
        ada_member.user.set_password("another long password")
        ada_member.user.save()

        assert fail(device, 6) == [200] * 5 + [429]

    @pytest.mark.parametrize("change", [lambda value: value[:-1], lambda value: "", lambda value: "x:y:z"])
    def test_is_rejected_with_an_invalid_signature(self, device, change):
        name = configured.DEVICE_COOKIE_NAME
        device.cookies[name] = change(device.cookies[name].value)

        assert fail(device, 6) == [200] * 5 + [429]

    def test_is_a_cookie_that_scripts_cannot_read(self, ada_member):
        cookie = sign_in(Client()).cookies[configured.DEVICE_COOKIE_NAME]

        assert (cookie["httponly"], cookie["samesite"], cookie["max-age"]) == (True, "Lax", 180 * 24 * 3600)
        assert PASSWORD not in cookie.value

    def test_is_not_remembered_after_a_wrong_password(self, ada_member):
        client = Client()
        fail(client, 1)

        assert configured.DEVICE_COOKIE_NAME not in client.cookies


class TestFrozenRedis:
    """Redis accepts connections and never answers."""

    @pytest.fixture(autouse=True)
    def _frozen(self, settings):
        with frozen_cache(settings):
            yield

    def test_keeps_the_limits(self, visitor, ada_member):
        assert fail(visitor, 6) == [200] * 5 + [429]

    def test_allows_sign_in(self, visitor, ada_member):
        assert sign_in(visitor).status_code == 302
        assert visitor.get("/dashboard/").status_code == 200

    def test_keeps_the_limit_of_reset_mails(self, visitor, ada_member):
        assert [request_reset(visitor) for _ in range(4)] == [302] * 3 + [429]

    def test_keeps_throttling_the_administration(self, visitor):
        UserFactory(email="staff@example.com", password=PASSWORD, is_staff=True, is_superuser=True)

        statuses = fail(visitor, 6, email="staff@example.com", next="/admin/")

        assert statuses == [200] * 5 + [429]


class TestForgottenPassword:
    def test_is_mailed_at_most_three_times_per_requester(self, visitor, ada_member):
        assert [request_reset(visitor) for _ in range(4)] == [302] * 3 + [429]
        mail_password_resets()
        assert len(mail.outbox) == 3

    def test_is_still_mailed_after_requests_by_others(self, visitor, ada_member):
        for _ in range(5):
            request_reset(visitor)

        assert request_reset(Client(), address="198.51.100.7") == 302

    def test_is_mailed_to_an_account_ten_times_an_hour_unless_from_a_known_device(self, visitor, ada_member):
        device = Client()
        sign_in(device)
        device.post("/dashboard/logout/")
        statuses = [request_reset(visitor, address=f"192.0.2.{number}") for number in range(1, 12)]

        assert statuses == [302] * 10 + [429]
        assert request_reset(device) == 302

    @pytest.mark.parametrize(
        "email", ["\x00", "a\x00b@example.com", "\ud800".encode("utf-8", "surrogatepass")]
    )
    def test_rejects_an_invalid_address(self, visitor, db, email):
        assert request_reset(visitor, email=email) == 200
        assert not PasswordResetRequest.objects.exists()

    def test_returns_the_same_for_unknown_addresses(self, visitor, ada_member):
        assert [request_reset(visitor, email="unknown@example.com") for _ in range(4)] == [302] * 3 + [429]
        mail_password_resets()
        assert mail.outbox == []

    def test_signs_in_the_browser_that_sets_the_new_password(self, visitor, ada_member):
        for number in range(1, 32):
            fail(Client(), 1, address=f"198.51.100.{number}")
        request_reset(visitor)
        mail_password_resets()
        link = re.search(r"http://127.0.0.1:8000(\S+)", mail.outbox[0].body).group(1)
        form = visitor.get(link)["Location"]
        chosen = "correct horse battery staple"
        visitor.post(form, {"password1": chosen, "password2": chosen})
        for number in range(1, 32):
            fail(Client(), 1, address=f"198.51.100.{number}")

        assert sign_in(visitor, password=chosen).status_code == 302


class TestAddress:
    @pytest.mark.parametrize(
        ("proxies", "forwarded", "expected"),
        [
            (0, "198.51.100.7", "192.0.2.1"),
            (1, "198.51.100.7", "198.51.100.7"),
            (1, "203.0.113.9, 198.51.100.7", "198.51.100.7"),
            (2, "203.0.113.9, 198.51.100.7", "203.0.113.9"),
            (2, "198.51.100.7", "192.0.2.1"),
            (1, "rubbish", "192.0.2.1"),
            (1, "", "192.0.2.1"),
        ],
    )
    def test_is_taken_from_our_proxies_and_not_from_clients(self, rf, settings, proxies, forwarded, expected):
        settings.PROXIES_IN_FRONT = proxies
        request = rf.get("/", REMOTE_ADDR="192.0.2.1", headers={"X-Forwarded-For": forwarded})

        assert client_address(request) == expected


class TestNext:
    @pytest.mark.parametrize("path", PATHS)
    def test_redirects_to_our_own_pages(self, visitor, ada_member, path):
        assert sign_in(visitor, next=path)["Location"] == path

    def test_redirects_to_no_other_site(self, subtests, visitor, browser, ada_member):
        for trap in TRAPS:
            with subtests.test(trap=trap):
                assert safe_path(trap) == "/dashboard/"
                assert sign_in(visitor, next=trap)["Location"] == "/dashboard/"
                assert browser.get(LOGIN, {"next": trap})["Location"] == "/dashboard/"

    def test_is_kept_after_a_wrong_password(self, visitor, ada_member):
        page = sign_in(visitor, password="wrong", next='/dashboard/?a="b"').content.decode()

        assert '<input type="hidden" name="next" value="/dashboard/?a=&quot;b&quot;">' in page


class TestAuditTrail:
    def test_records_user_and_address(self, visitor, ada_member):
        sign_in(visitor)

        assert entries() == [("session.signed_in", "ada@example.com", "Ada Books", "192.0.2.1")]

    def test_records_failures(self, visitor, ada_member):
        sign_in(visitor, password="wrong")
        sign_in(visitor, "unknown@example.com")

        assert entries() == [
            ("session.sign_in_failed", "ada@example.com", "Ada Books", "192.0.2.1"),
            ("session.sign_in_failed", "unknown", None, "192.0.2.1"),
        ]

    def test_names_no_business_if_there_are_several(self, visitor, ada_member, bisi):
        MemberFactory(user=ada_member.user, business=bisi.business)

        sign_in(visitor)

        assert entries() == [("session.signed_in", "ada@example.com", None, "192.0.2.1")]

    def test_never_contains_the_input(self, visitor, ada_member):
        sign_in(visitor, email="my-secret-password", password="my-other-secret")
        sign_in(visitor, email="my-secret@password.example", password="my-other-secret")
        sign_in(visitor)

        stored = str(list(AuditEntry.objects.values()))
        assert "secret" not in stored
        assert PASSWORD not in stored

    def test_omits_throttled_attempts(self, visitor, ada_member):
        fail(visitor, 8)

        assert len(entries()) == 5


class TestSignOut:
    def test_ends_the_session(self, browser):
        answer = browser.post("/dashboard/logout/")

        assert (answer.status_code, answer["Location"]) == (302, LOGIN)
        assert browser.get("/dashboard/")["Location"] == LOGIN

    def test_requires_a_csrf_token(self, browser, ada_member):
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(ada_member.user)

        assert strict.post("/dashboard/logout/").status_code == 403
        assert browser.get("/dashboard/logout/").status_code == 405
        assert browser.get("/dashboard/").status_code == 200


class TestMembership:
    def test_is_checked_for_every_page(self, browser, ada_member):
        ada_member.delete()

        assert browser.get("/dashboard/").status_code == 403

    def test_of_a_closed_business_is_ignored(self, browser, ada):
        ada.business.is_active = False
        ada.business.save()

        assert browser.get("/dashboard/").status_code == 403

    def test_of_a_closed_account_ends_at_once(self, browser, ada_member):
        ada_member.user.is_active = False
        ada_member.user.save()

        assert browser.get("/dashboard/").status_code == 302

    def test_is_required_for_staff_too(self, visitor):
        UserFactory(email="staff@example.com", password=PASSWORD, is_staff=True)
        sign_in(visitor, "staff@example.com")

        answer = visitor.get("/dashboard/")

        assert answer.status_code == 403
        assert "not a member of a business yet" in answer.content.decode()
        assert 'href="/admin/"' in answer.content.decode()
        assert "/dashboard/logout/" in answer.content.decode()


class TestSwitching:
    @pytest.fixture
    def two(self, ada_member, bisi):
        return MemberFactory(user=ada_member.user, business=bisi.business, role=Member.Role.VIEWER)

    def test_selects_another_business_for_later_pages(self, browser, two):
        assert "<h1" in browser.get("/dashboard/").content.decode()

        answer = browser.post("/dashboard/business/", {"business": two.business_id})

        assert answer["Location"] == "/dashboard/"
        assert browser.get("/dashboard/").context["membership"].business == two.business
        assert browser.get("/dashboard/").context["membership"].business == two.business

    @pytest.mark.parametrize("wanted", ["theirs", "", "nonsense", "00000000-0000-0000-0000-000000000000"])
    def test_cannot_select_a_business_of_others(self, browser, ada_member, bisi, wanted):
        business = str(bisi.business_id) if wanted == "theirs" else wanted

        assert browser.post("/dashboard/business/", {"business": business}).status_code == 404
        assert browser.get("/dashboard/").context["membership"].business == ada_member.business

    def test_ends_with_the_membership(self, browser, two, ada_member):
        browser.post("/dashboard/business/", {"business": two.business_id})
        two.delete()

        assert browser.get("/dashboard/").context["membership"].business == ada_member.business

    def test_is_offered_to_members_of_several_businesses_only(self, browser, ada_member, bisi):
        assert "/dashboard/business/" not in browser.get("/dashboard/").content.decode()

        MemberFactory(user=ada_member.user, business=bisi.business)
        assert "/dashboard/business/" in browser.get("/dashboard/").content.decode()


class TestAuthorisation:
    @pytest.mark.parametrize("role", Member.Role.values)
    def test_shows_the_overview_to_every_role(self, browser, ada_member, role):
        ada_member.role = role
        ada_member.save()

        assert browser.get("/dashboard/").status_code == 200

    def test_redirects_anonymous_users_to_sign_in(self, visitor):
        assert visitor.get("/dashboard/?page=2")["Location"] == LOGIN
