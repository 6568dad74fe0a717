"""The developers area: API keys (secrets are shown once), the request log and the signature checker."""

import re
from datetime import timedelta

import pytest
from django.utils import timezone

from merchants.api import signing
from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest, AuditEntry, FailedCallCount
from tests import orders
from tests.addresses import is_asked
from tests.clients import Credentials, InProcessClient, signed_headers
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.factories import ApiKeyFactory
from tests.kit.test_display_names import UNREADABLE
from tests.logged_calls import logged_call

pytestmark = pytest.mark.django_db

KEYS = "/dashboard/developers/"
NEW = "/dashboard/developers/keys/new/"
REQUESTS = "/dashboard/developers/requests/"
CHECKER = "/dashboard/developers/signature/"


@pytest.fixture
def developer(ada_member):
    ada_member.role = "developer"
    ada_member.save()
    return signed_in(ada_member.user)


def once(page):
    return re.search(r'name="once" value="([^"]+)"', page.content.decode()).group(1)


def secret_on(page):
    return re.search(r'data-secret="api-key">([^<]+)<', page.content.decode()).group(1)


def create(client, **form):
    form = {"name": "Web shop", "access": "full", "once": once(client.get(NEW)), **form}
    return client.post(NEW, form)


def test_page_links_to_the_collections_of_requests(developer):
    page = developer.get(KEYS).content.decode()

    for address in ("/api/collections/postman.json", "/api/collections/bruno.zip"):
        assert f'href="{address}"' in page
        assert developer.get(address).status_code == 200


class TestKeys:
    def test_are_created_with_a_secret_that_is_shown_once_and_signs(self, developer):
        page = create(developer)

        secret = secret_on(page)
        key = ApiKey.objects.get(name="Web shop")
        assert InProcessClient(Credentials(key.public_id, secret)).get("/api/banks").status_code == 200
        assert "no-store" in page["Cache-Control"]
        assert "<bdi>Web shop</bdi>" in page.content.decode()
        assert "<dt>Access</dt><dd>Full</dd>" in page.content.decode()
        assert Audit(page.content.decode()).findings == []
        assert secret not in developer.get(KEYS).content.decode()
        assert secret not in str(list(AuditEntry.objects.values()))

    def test_are_created_once_however_often_a_form_is_submitted(self, developer):
        number = once(developer.get(NEW))
        for _ in range(3):
            create_again = developer.post(NEW, {"name": "Web shop", "access": "full", "once": number})

        assert create_again.status_code == 302
        assert ApiKey.objects.filter(name="Web shop").count() == 1

    @pytest.mark.parametrize("name", UNREADABLE)
    def test_are_not_created_with_control_characters_in_their_name(self, developer, name):
        page = create(developer, name=f"{name} x")

        assert "control characters" in page.content.decode()
        assert ApiKey.objects.count() == 1

    def test_are_rotated_with_an_overlap(self, developer, ada):
        address = f"/dashboard/developers/keys/{ada.pk}/rotate/"

        page = developer.post(address, {"overlap": "24", "once": once(developer.get(address))})

        ada.refresh_from_db()
        assert timedelta(hours=23) < ada.expires_at - timezone.now() <= timedelta(hours=24)
        newer = ApiKey.objects.exclude(pk=ada.pk).get()
        assert secret_on(page) == newer.secret
        for key in (ada, newer):
            assert (
                InProcessClient(Credentials(key.public_id, key.secret)).get("/api/banks").status_code == 200
            )

    def test_are_revoked_at_once(self, developer, ada, api):
        developer.post(f"/dashboard/developers/keys/{ada.pk}/revoke/")

        assert api.get("/api/banks").json()["code"] == "unknown_key"
        assert f"{ada.public_id} was revoked." in developer.get(KEYS).content.decode()
        assert ada.public_id not in developer.get(KEYS).content.decode()
        assert "Revoked" in developer.get(f"{KEYS}?ended=yes").content.decode()

    def test_are_named_when_they_are_revoked(self, developer, ada):
        ApiKey.objects.filter(pk=ada.pk).update(name="Web shop")

        page = developer.post(f"/dashboard/developers/keys/{ada.pk}/revoke/", follow=True)

        assert f"Web shop ({ada.public_id}) was revoked." in page.content.decode()

    def test_of_others_are_not_found(self, developer, bisi):
        for act in ("rotate", "revoke"):
            assert developer.post(f"/dashboard/developers/keys/{bisi.pk}/{act}/").status_code == 404
        bisi.refresh_from_db()
        assert bisi.revoked_at is None

    def test_cannot_be_rotated_after_their_end(self, developer, ada):
        ended = ApiKeyFactory(business=ada.business, expires_at=timezone.now())
        address = f"/dashboard/developers/keys/{ended.pk}/rotate/"

        page = developer.post(address, {"overlap": "0", "once": once(developer.get(address))}, follow=True)

        assert "has already expired or been revoked" in page.content.decode()

    def test_require_reauthentication(self, ada_member):
        stale = signed_in(ada_member.user, fresh=False)

        answer = stale.post(NEW, {"name": "x", "access": "full"})

        assert is_asked(answer)

    def test_escape_names(self, developer):
        create(developer, name="<script>alert(1)</script>")

        assert "<script>" not in developer.get(KEYS).content.decode()


class TestRequests:
    @pytest.fixture
    def calls(self, ada, bisi):
        logged_call(ada.business)
        logged_call(
            ada.business, request_id="r-2", status=400, code="invalid_request", target="/api/payments"
        )
        logged_call(
            ada.business, request_id="r-3", status=503, code="rail_unavailable", target="/api/payments/<b>x"
        )
        logged_call(bisi.business, request_id="r-4")

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("", ["r-3", "r-2", "r-1"]),
            ("?q=r-2", ["r-2"]),
            ("?q=r-4", []),
            ("?q=/api/pay", ["r-3", "r-2"]),
            ("?status=2", ["r-1"]),
            ("?status=4", ["r-2"]),
            ("?status=5", ["r-3"]),
            ("?status=junk", []),
            ("?key=unknown", []),
            ("?q=%00", []),
        ],
    )
    def test_can_be_filtered(self, developer, calls, query, found):
        page = developer.get(REQUESTS + query)

        assert page.status_code == 200
        assert re.findall(r'<code title="(r-\d)"', page.content.decode()) == found

    def test_name_their_keys_and_lead_to_them(self, developer, ada, calls):
        ada.name = "Web <shop>"
        ada.save()

        page = developer.get(REQUESTS).content.decode()

        address = f"{KEYS}?ended=yes#key-{ada.pk}"
        assert page.count(f'href="{address}"><bdi>Web &lt;shop&gt;</bdi></a>') == 3
        assert f'<tr id="key-{ada.pk}">' in developer.get(KEYS, {"ended": "yes"}).content.decode()

    def test_of_keys_without_a_name_show_their_ids(self, developer, ada, calls):
        page = developer.get(REQUESTS).content.decode()

        assert page.count(f"<bdi>{ada.public_id}</bdi></a>") == 3

    def test_escape_urls(self, developer, calls):
        page = developer.get(REQUESTS).content.decode()

        assert "<b>x" not in page
        assert Audit(page).findings == []


class TestFailedCalls:
    def test_are_summed_by_key_and_reason(self, developer, ada, bisi):
        now = timezone.now()
        for key, count, hours in ((ada, 5, 0), (ada, 7, 2), (ada, 90, 30), (bisi, 1000, 0)):
            FailedCallCount.objects.create(
                business=key.business,
                key=key.public_id,
                code="invalid_signature",
                hour=now - timedelta(hours=hours),
                count=count,
            )

        page = developer.get(REQUESTS).content.decode()

        assert re.findall(r"invalid_signature</a>: <span[^>]*>(\d+)</span> (requests?)<", page) == [
            ("12", "requests")
        ]
        assert bisi.public_id not in page
        assert Audit(page).findings == []

    def test_are_not_shown_if_there_are_none(self, developer):
        assert "failed authentication" not in developer.get(REQUESTS).content.decode()


class TestChecker:
    TARGET = "/api/payments?limit=5"
    BODY = '{"amount": 1000}'

    def paste(
        self, client, ada, *, secret="", method="POST", target=TARGET, body=BODY, signed=None, **changed
    ):
        headers = signed_headers(
            Credentials(ada.public_id, ada.secret), method, target, body.encode(), **(signed or {})
        )
        headers |= {name.replace("_", "-"): value for name, value in changed.items()}
        lines = "\r\n".join(f"{name}: {value}" for name, value in headers.items() if value)
        form = {"method": method, "target": target, "headers": lines, "body": body, "secret": secret}
        return client.post(CHECKER, form)

    def wrong(self, page):
        return [step.name for step in page.context["report"].steps if step.state == "wrong"]

    def words(self, page):
        return " ".join(step.text for step in page.context["report"].steps)

    def test_accepts_a_valid_signature(self, developer, ada):
        page = self.paste(developer, ada)

        assert page.context["report"].verdict == "All checks passed"
        assert "POST" in page.context["report"].string_to_sign
        assert Audit(page.content.decode()).findings == []

    @pytest.mark.parametrize(
        ("changed", "step"),
        [
            ({"X_Nonce": ""}, "Headers"),
            ({"X_Nonce": "short"}, "Header format"),
            ({"X_Signature": "c2hvcnQ="}, "Header format"),
            ({"X_Api_Key": "pk_sandbox_nobody"}, "Key"),
            ({"X_Api_Key": "sk_sandbox_secret"}, "Key"),
            ({"X_Signature": "0" * 64}, "Signature"),
        ],
    )
    def test_names_the_step_that_differs(self, developer, ada, changed, step):
        assert step in self.wrong(self.paste(developer, ada, **changed))

    def test_detects_a_wrong_clock_or_milliseconds(self, developer, ada):
        assert self.wrong(self.paste(developer, ada, signed={"timestamp": "1000000000"})) == ["Clock"]

    @pytest.mark.parametrize(
        ("mistake", "words"),
        [
            (lambda text: text + "\n", "line feed at the end"),
            (lambda text: text.replace("POST", "post"), "lower case"),
            (lambda text: text.replace("?limit=5", ""), "without its query"),
            (lambda text: text.replace("\n", "\r\n"), "CR LF"),
        ],
    )
    def test_detects_the_mistake_behind_a_wrong_signature(self, developer, ada, mistake, words):
        right = signed_headers(
            Credentials(ada.public_id, ada.secret), "POST", self.TARGET, self.BODY.encode()
        )
        text = signing.string_to_sign(
            timestamp=right["X-Timestamp"],
            nonce=right["X-Nonce"],
            method="POST",
            target=self.TARGET,
            body=self.BODY.encode(),
        )
        right["X-Signature"] = signing.sign(ada.secret, mistake(text))

        page = self.paste(developer, ada, **{name.replace("-", "_"): value for name, value in right.items()})

        assert self.wrong(page) == ["Signature"]
        assert words in self.words(page)

    def test_detects_a_reformatted_body(self, developer, ada):
        right = signed_headers(
            Credentials(ada.public_id, ada.secret), "POST", self.TARGET, b'{"amount":1000}'
        )

        page = self.paste(developer, ada, **{name.replace("-", "_"): value for name, value in right.items()})

        assert "formatted differently" in self.words(page)

    def test_shows_the_right_signature_only_with_the_secret(self, developer, ada):
        without = self.paste(developer, ada, X_Signature="0" * 64)
        with_it = self.paste(developer, ada, X_Signature="0" * 64, secret=ada.secret)

        assert without.context["report"].signature == ""
        assert len(with_it.context["report"].signature) == 64
        assert ada.secret not in with_it.content.decode()

    def test_reveals_nothing_about_keys_of_others(self, developer, bisi):
        page = self.paste(developer, bisi)

        assert "no active key with this public ID" in self.words(page)
        assert page.context["report"].steps[5].state == "skipped"

    @pytest.mark.parametrize("form", [{}, {"method": "GET", "target": "x" * 3000, "headers": "\x00"}])
    def test_shows_an_error_for_malformed_input(self, developer, form):
        assert developer.post(CHECKER, form).status_code == 200

    def test_fields_with_errors_keep_their_hints(self, developer):
        page = developer.post(CHECKER, {"method": "GET", "target": "x" * 3000}).content.decode()

        for field in ("target", "headers"):
            assert f'aria-describedby="id_{field}-error id_{field}-hint"' in page
            assert f'<div id="id_{field}-error" role="alert">' in page


class TestObjects:
    """A request leads to the object that it made or read, and the object to its request."""

    @pytest.fixture
    def made(self, ada, api):
        """Return the pages of objects that API calls made."""
        payment = api.post("/api/payments", orders.card_payment(reference="order-1")).json()["id"]
        check = api.post("/api/payments", orders.card_check(reference="check-1")).json()["id"]
        account = api.post("/api/virtual-accounts", orders.dynamic_account(reference="account-1")).json()[
            "id"
        ]
        request_log.flush()
        return [
            f"/dashboard/payments/{payment}/",
            f"/dashboard/payments/{check}/",
            f"/dashboard/virtual-accounts/{account}/",
        ]

    def test_are_linked_from_their_requests(self, developer, made):
        page = developer.get(REQUESTS).content.decode()

        for address, reference in zip(made, ["order-1", "check-1", "account-1"], strict=True):
            assert f'href="{address}"><bdi>{reference}</bdi></a>' in page

    def test_are_named_by_the_filter(self, developer, made):
        names = ["Payment order-1", "Card check check-1", "Virtual account account-1"]
        for address, name in zip(made, names, strict=True):
            page = developer.get(REQUESTS, {"object": address.split("/")[3]}).content.decode()

            assert f'aria-label="Object: {name}"><span class="cut">{name}</span>' in page

    def test_link_to_their_requests(self, developer, made):
        for address in made:
            key = address.split("/")[3]
            page = developer.get(address).content.decode()

            call = ApiRequest.objects.get(object_id=key)
            assert f'href="{REQUESTS}{call.pk}/"' in page
            listed = developer.get(f"{REQUESTS}?object={key}").content.decode()
            assert listed.count('class="table__link"') == 1
            assert f'href="{address}"' in listed

    @pytest.mark.parametrize("key", ["x", "00000000-0000-0000-0000-000000000001"])
    def test_without_requests_list_none(self, developer, made, key):
        page = developer.get(f"{REQUESTS}?object={key}")

        assert page.status_code == 200
        assert "table__link" not in page.content.decode()

    def test_of_other_businesses_have_no_requests_here(self, other_browser, made):
        key = made[0].split("/")[3]

        assert "table__link" not in other_browser.get(f"{REQUESTS}?object={key}").content.decode()
