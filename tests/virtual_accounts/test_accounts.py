from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests import orders
from virtual_accounts import nuban
from virtual_accounts.models import AccountNumber, VirtualAccount

pytestmark = pytest.mark.django_db

PATH = "/api/virtual-accounts"


def errors(answer):
    assert answer.status_code == 400, answer.content
    assert answer["Content-Type"] == "application/problem+json"
    return {error["field"]: error["code"] for error in answer.json()["errors"]}


class TestStaticAccount:
    def test_gets_its_permanent_number_at_once(self, api):
        order = orders.static_account()

        answer = api.post(PATH, order)

        account = answer.json()
        number = account["customer"]["account_number"]
        assert answer.status_code == 201
        assert answer["Location"] == f"{PATH}/{order['reference']}"
        assert nuban.is_valid("035", number)
        assert account == {
            "id": account["id"],
            "currency": "NGN",
            "status": "active",
            "reference": order["reference"],
            "customer": {
                "name": "Ada Ngozi Obi",
                "account_number": number,
                "bank_code": "035",
                "email": "ada@shop.example",
                "reference": order["reference"],
            },
        }

    def test_has_a_number_of_its_own(self, api):
        numbers = [api.post(PATH, orders.static_account()).json()["customer"]["account_number"] for _ in "12"]

        assert len(set(numbers)) == 2
        assert AccountNumber.objects.filter(holder__isnull=False).count() == 2

    @pytest.mark.parametrize("field", ["middle_name", "phone_number", "dob", "bvn", "gender"])
    def test_needs_full_kyc(self, api, field):
        answer = api.post(PATH, orders.static_account(**{field: ...}))

        assert errors(answer) == {field: "required"}

    def test_rejects_an_invalid_field(self, subtests, api):
        for field, value in [
            ("dob", "31/12/1990"),
            ("dob", "1990-02-30"),
            ("dob", "1990-1-1"),
            ("dob", 19901231),
            ("bvn", "2221234567"),
            ("bvn", "222123456789"),
            ("bvn", "٢٢٢١٢٣٤٥٦٧٨"),
            ("bvn", 22212345678),
            ("gender", "Female"),
            ("gender", "other"),
            ("phone_number", ""),
            ("phone_number", "080123456789"),
            ("phone_number", 8012345678),
            ("email", "ada"),
            ("first_name", "  "),
            ("first_name", None),
            ("currency", "ngn"),
            ("currency", "XYZ"),
            ("reference", "a b"),
            ("type", "Static"),
            ("account_type", "company"),
            ("business_name", "Ada Books Ltd"),
            ("nickname", "Ada"),
        ]:
            with subtests.test(field=field, value=value):
                assert set(errors(api.post(PATH, orders.static_account(**{field: value})))) == {field}
                assert not VirtualAccount.objects.exists()

    @pytest.mark.parametrize(("days", "status"), [(-1, 201), (0, 400), (1, 400)])
    def test_accepts_a_date_of_birth_before_today(self, api, days, status):
        day = (timezone.now().date() + timedelta(days=days)).isoformat()

        assert api.post(PATH, orders.static_account(dob=day)).status_code == status

    @pytest.mark.parametrize("field", ["address_line1", "city", "state", "postal_code", "country"])
    def test_needs_the_complete_address(self, api, field):
        answer = api.post(PATH, orders.static_account(address=orders.address(**{field: ...})))

        assert errors(answer) == {f"address.{field}": "required"}

    @pytest.mark.parametrize("country", ["NG", "nga", "XYZ", "Nigeria", 566])
    def test_needs_an_existing_country(self, api, country):
        answer = api.post(PATH, orders.static_account(address=orders.address(country=country)))

        assert set(errors(answer)) == {"address.country"}

    def test_stores_its_bvn_encrypted(self, api):
        api.post(PATH, orders.static_account(bvn="22299988877"))

        account = VirtualAccount.objects.get()
        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM virtual_accounts_virtualaccount")
            stored = " ".join(str(value) for value in cursor.fetchone())
        assert "22299988877" not in stored
        assert (account.bvn, account.bvn_last4) == ("22299988877", "8877")

    def test_identifies_the_same_person_by_a_keyed_hash(self, api):
        for bvn in ("22299988877", "22299988877", "22299988878"):
            api.post(PATH, orders.static_account(bvn=bvn))

        hashes = list(VirtualAccount.objects.order_by("id").values_list("bvn_hash", flat=True))
        assert hashes[0] == hashes[1] != hashes[2]


class TestDynamicAccount:
    def test_has_no_permanent_number(self, api):
        answer = api.post(PATH, orders.dynamic_account())

        customer = answer.json()["customer"]
        assert answer.status_code == 201
        assert (customer["name"], customer["account_number"], customer["bank_code"]) == ("Ada Obi", "", "035")

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("middle_name", "Ngozi"), ("phone_number", "0801"), ("dob", "1990-12-31"), ("bvn", "22212345678"),
            ("gender", "male"),
        ],
    )  # fmt: skip
    def test_stores_no_data_of_a_static_account(self, api, field, value):
        answer = api.post(PATH, orders.dynamic_account(**{field: value}))

        assert answer.status_code == 201
        account = VirtualAccount.objects.get()
        kept = (account.middle_name, account.phone_number, account.date_of_birth, account.gender, account.bvn)
        assert kept == ("", "", None, "", None)

    def test_is_not_named_after_a_business(self, api):
        answer = api.post(PATH, orders.dynamic_account(business_name="Ada Books"))

        assert errors(answer) == {"business_name": "not_allowed_here"}
        assert answer.json()["code"] == "not_allowed_here"

    def test_cannot_belong_to_the_business_itself(self, api):
        answer = api.post(PATH, orders.business_account(type="dynamic"))

        assert errors(answer) == {"type": "invalid_choice"}


def number_of(api, account):
    """Return the account number, after checking that lookup and list return the same."""
    (listed,) = api.get(f"{PATH}?id={account['id']}").json()["data"]
    alone = api.get(f"{PATH}/{account['reference']}").json()
    assert listed == alone
    return alone["customer"]["account_number"]


class TestNumberOfADynamicAccount:
    def test_is_that_of_its_only_open_session(self, api):
        order = orders.dynamic_account()
        account = api.post(PATH, order).json()
        assert number_of(api, account) == ""

        first = api.post("/api/payments", orders.transfer_payment(account["id"], amount=50_000)).json()
        attached = first["virtual_account_details"]["account_number"]

        assert number_of(api, account) == attached
        assert api.post(PATH, order).json()["customer"]["account_number"] == attached  # a replay

    def test_is_empty_while_several_sessions_are_open(self, api):
        account = api.post(PATH, orders.dynamic_account()).json()
        first, second = (
            api.post("/api/payments", orders.transfer_payment(account["id"], amount=50_000)).json()
            for _ in range(2)
        )
        assert number_of(api, account) == ""

        api.post(f"/api/payments/{first['reference']}/cancel")

        assert number_of(api, account) == second["virtual_account_details"]["account_number"]

    def test_is_empty_after_the_session(self, api):
        account = api.post(PATH, orders.dynamic_account()).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"], amount=50_000)).json()
        number = payment["virtual_account_details"]["account_number"]

        api.post(f"{PATH}/simulate", {"account_number": number, "amount": 50_000})

        assert number_of(api, account) == ""

    def test_of_a_list_needs_no_statement_per_account(self, api):
        def statements():
            with CaptureQueriesContext(connection) as queries:
                api.get(PATH)
            return len(queries)

        api.post(PATH, orders.dynamic_account())
        one = statements()
        for _ in range(3):
            account = api.post(PATH, orders.dynamic_account()).json()
            api.post("/api/payments", orders.transfer_payment(account["id"], amount=50_000))

        assert statements() == one

    def test_of_a_static_account_is_permanent(self, api):
        account = api.post(PATH, orders.static_account()).json()
        api.post("/api/payments", orders.transfer_payment(account["id"], amount=50_000))

        assert number_of(api, account) == account["customer"]["account_number"] != ""


class TestAddressOfADynamicAccount:
    def test_needs_no_address(self, api):
        order = orders.dynamic_account(address=...)

        assert api.post(PATH, order).status_code == 201
        assert api.post(PATH, order).headers["Idempotent-Replayed"] == "true"
        assert VirtualAccount.objects.get().address == {}

    def test_has_a_complete_address_or_none(self, api):
        answer = api.post(PATH, orders.dynamic_account(address=orders.address(city=...)))

        assert errors(answer) == {"address.city": "required"}


class TestBusinessAccount:
    def test_has_the_name_of_the_business(self, api):
        customer = api.post(PATH, orders.business_account()).json()["customer"]

        assert customer["name"] == "Ada Books Ltd"
        assert nuban.is_valid("035", customer["account_number"])

    def test_ignores_the_fields_of_a_person(self, api):
        person = {"first_name": 7, "middle_name": None, "last_name": "", "dob": "never", "gender": "x"}

        answer = api.post(PATH, orders.business_account(**person))

        account = VirtualAccount.objects.get()
        assert answer.status_code == 201
        assert (account.first_name, account.gender, account.date_of_birth) == ("", "", None)

    @pytest.mark.parametrize("field", ["business_name", "phone_number", "bvn", "email", "address"])
    def test_needs(self, api, field):
        assert errors(api.post(PATH, orders.business_account(**{field: ...}))) == {field: "required"}

    @pytest.mark.parametrize("phone_number", ["080123456789", "+2348012", "08O12"])
    def test_has_a_phone_number_of_digits(self, api, phone_number):
        answer = api.post(PATH, orders.business_account(phone_number=phone_number))

        assert set(errors(answer)) == {"phone_number"}


class TestNoKindOfAccount:
    @pytest.mark.parametrize(
        "kind", [{}, {"type": None}, {"type": 1}, {"type": ["static"]}, {"type": "both"}]
    )
    def test_gets_every_error_at_once(self, api, kind):
        found = errors(api.post(PATH, kind))

        assert found.keys() == {"type", "reference", "email", "currency"}


class TestReference:
    def test_makes_a_repeated_request_safe(self, api):
        order = orders.static_account()
        first = api.post(PATH, order)

        again = api.post(PATH, order)

        assert (again.status_code, again.json()) == (200, first.json())
        assert again["Idempotent-Replayed"] == "true"
        assert AccountNumber.objects.filter(holder__isnull=False).count() == 1

    @pytest.mark.parametrize("change", [{"bvn": "22212345679"}, {"email": "bisi@shop.example"}])
    def test_of_another_request_is_rejected(self, api, change):
        order = orders.static_account()
        first = api.post(PATH, order).json()

        answer = api.post(PATH, order | change)

        problem = answer.json()
        assert (answer.status_code, problem["status"], problem["code"]) == (409, 409, "duplicate_reference")
        assert problem["existing"] == {"id": first["id"], "status": "active"}

    def test_is_unique_within_a_business(self, api, other_api):
        order = orders.dynamic_account()

        answers = [api.post(PATH, order), other_api.post(PATH, order)]

        assert [answer.status_code for answer in answers] == [201, 201]


class TestLookUp:
    def test_returns_the_same_as_the_creation(self, api):
        order = orders.static_account()
        created = api.post(PATH, order).json()

        answer = api.get(f"{PATH}/{order['reference']}")

        assert (answer.status_code, answer.json()) == (200, created)

    def test_of_another_businesss_account_finds_nothing(self, api, other_api):
        order = orders.static_account()
        api.post(PATH, order)

        assert other_api.get(f"{PATH}/{order['reference']}").status_code == 404


class TestList:
    def test_shows_own_accounts_newest_first(self, api, other_api):
        made = [api.post(PATH, orders.dynamic_account()).json()["id"] for _ in range(3)]
        other_api.post(PATH, orders.dynamic_account())

        page = api.get(f"{PATH}?limit=2").json()
        rest = api.get(page["next"].partition("testserver")[2]).json()

        assert [account["id"] for account in page["data"] + rest["data"]] == made[::-1]

    def test_is_filtered(self, api):
        static = api.post(PATH, orders.static_account()).json()
        api.post(PATH, orders.dynamic_account())

        for query in ("type=static", f"id={static['id']}"):
            found = api.get(f"{PATH}?status=active&{query}").json()["data"]
            assert [account["id"] for account in found] == [static["id"]]
        assert api.get(f"{PATH}?status=inactive").json()["data"] == []

    @pytest.mark.parametrize(
        "query", ["status=open", "payment_method=card", "limit=0", "id=7", "type=x&type=y"]
    )
    def test_rejects_an_unknown_filter(self, api, query):
        assert api.get(f"{PATH}?{query}").status_code == 400


class TestWithoutAHostingBank:
    def test_nothing_is_stored(self, api, settings):
        settings.ACCOUNT_PROVIDER = ""

        answer = api.post(PATH, orders.static_account())

        assert (answer.status_code, answer.json()["code"]) == (503, "rail_unavailable")
        assert not VirtualAccount.objects.exists()
