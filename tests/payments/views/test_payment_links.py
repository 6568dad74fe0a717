from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.db import DatabaseError, transaction
from django.utils import timezone

from merchants.models import AuditEntry
from payments.models import PaymentLink
from tests import orders
from tests.links import begin, make_link, pay_by_card

pytestmark = pytest.mark.django_db

LINKS = "/api/payment-links"


def create(api, **changes):
    return api.post(LINKS, orders.payment_link(**changes))


def made(api, **changes):
    answer = create(api, **changes)
    assert answer.status_code == 201, answer.json()
    return answer.json()


def field_errors(answer):
    return {each["field"]: each["code"] for each in answer.json()["errors"]}


def in_days(days):
    return (timezone.now() + timedelta(days=days)).isoformat().replace("+00:00", "Z")


class TestCreate:
    def test_answers_with_the_link(self, api, settings):
        answer = create(api, reference="workshop-may", max_uses=20)

        link = answer.json()
        assert answer.status_code == 201
        assert answer.headers["Location"] == "/api/payment-links/workshop-may"
        assert link == {
            "id": link["id"],
            "reference": "workshop-may",
            "status": "active",
            "url": f"{settings.PUBLIC_URL}/l/{link['slug']}",
            "slug": link["slug"],
            "title": "Bookbinding workshop",
            "amount": 1_500_000,
            "currency": "NGN",
            "quantity_max": 1,
            "payment_methods": ["card", "virtual_account"],
            "transfer_window": 1_800,
            "collect": {"name": "required", "email": "required", "phone": "no"},
            "max_uses": 20,
            "uses_paid": 0,
            "uses_held": 0,
            "uses_left": 20,
            "amount_paid": 0,
            "created_at": link["created_at"],
            "updated_at": link["created_at"],
        }

    def test_makes_a_slug_that_can_not_be_guessed_or_misread(self, api):
        slugs = {made(api)["slug"] for _ in range(20)}

        assert len(slugs) == 20
        assert all(len(slug) == 12 and set(slug) <= set("0123456789abcdefghjkmnpqrstvwxyz") for slug in slugs)

    def test_replays_the_same_request(self, api):
        first = made(api, reference="workshop")

        again = create(api, reference="workshop")

        assert (again.status_code, again.headers["Idempotent-Replayed"]) == (200, "true")
        assert again.json() == first
        assert PaymentLink.objects.count() == 1

    def test_refuses_another_request_with_the_reference(self, api):
        first = made(api, reference="workshop")

        answer = create(api, reference="workshop", amount=20_000)

        assert (answer.status_code, answer.json()["code"]) == (409, "duplicate_reference")
        assert answer.json()["existing"] == {"id": first["id"], "status": "active"}

    def test_replays_although_its_end_is_over(self, api):
        request = orders.payment_link(expires_at=in_days(1))
        first = api.post(LINKS, request).json()
        PaymentLink.objects.update(expires_at=timezone.now())

        again = api.post(LINKS, request)

        assert (again.status_code, again.json()["id"]) == (200, first["id"])
        assert again.json()["status"] == "expired"

    def test_has_references_of_its_own_namespace(self, api):
        api.post("/api/payments", orders.card_payment(reference="order-1"))

        assert create(api, reference="order-1").status_code == 201

    def test_refuses_invalid_fields(self, subtests, api):
        for changes, errors in [
            ({"amount": ...}, {"amount": "required"}),
            ({"amount_range": {"min": 10_000, "max": 20_000}}, {"amount": "not_allowed_here"}),
            ({"amount": 9_999}, {"amount": "too_small"}),
            ({"amount": 99, "currency": "USD"}, {"amount": "too_small"}),
            ({"amount": 10**12, "quantity_max": 2}, {"quantity_max": "too_large"}),
            ({"quantity_max": 101}, {"quantity_max": "too_large"}),
            (
                {"amount": ..., "amount_range": {"min": 9_999, "max": 20_000}},
                {"amount_range.min": "too_small"},
            ),
            (
                {"amount": ..., "amount_range": {"min": 20_000, "max": 10_000}},
                {"amount_range.max": "too_small"},
            ),
            (
                {"amount": ..., "amount_range": {"min": 10_000, "max": 20_000, "suggested": [30_000]}},
                {"amount_range.suggested": "invalid"},
            ),
            (
                {"amount": ..., "amount_range": {"min": 10_000, "max": 20_000}, "quantity_max": 2},
                {"quantity_max": "not_allowed_here"},
            ),
            ({"title": "two\nlines"}, {"title": "invalid"}),
            ({"title": "x" * 81}, {"title": "invalid_length"}),
            ({"description": "bell \x07"}, {"description": "invalid"}),
            ({"payment_methods": []}, {"payment_methods": "invalid_length"}),
            ({"payment_methods": ["card", "card"]}, {"payment_methods": "duplicate"}),
            ({"payment_methods": ["bank"]}, {"payment_methods.0": "invalid_choice"}),
            ({"payment_method_id": "nonsense"}, {"payment_method_id": "invalid_payment_method"}),
            ({"transfer_window": 599}, {"transfer_window": "too_small"}),
            ({"transfer_window": 3_601, "max_uses": 5}, {"transfer_window": "too_large"}),
            ({"max_uses": 0}, {"max_uses": "too_small"}),
            ({"max_uses": 1, "slug": "my-order"}, {"slug": "not_allowed_here"}),
            ({"slug": "-no"}, {"slug": "invalid_length"}),
            ({"slug": "two--hyphens"}, {"slug": "invalid"}),
            ({"slug": "Upper"}, {"slug": "invalid"}),
            (
                {"customer": {"reference": "c", "email": "a@b.example"}},
                {"customer": "not_allowed_here"},
            ),
            ({"max_uses": 1, "customer": {"reference": "c"}}, {"customer.email": "required"}),
            ({"collect": {"name": "maybe"}}, {"collect.name": "invalid_choice"}),
            (
                {"custom_fields": [{"key": "size", "label": "Size", "required": True}] * 2},
                {"custom_fields": "duplicate"},
            ),
            (
                {"custom_fields": [{"key": "Size", "label": "Size", "required": True}]},
                {"custom_fields.0.key": "invalid"},
            ),
            ({"redirect_url": "ftp://shop.example"}, {"redirect_url": "invalid"}),
            ({"currency": "EUR"}, {"currency": "unsupported_currency"}),
            ({"colour": "blue"}, {"colour": "unknown_field"}),
        ]:
            with subtests.test(changes=changes, errors=errors):
                answer = create(api, **changes)

                assert answer.status_code == 400
                assert field_errors(answer) == errors
                assert not PaymentLink.objects.exists()

    @pytest.mark.parametrize("days", [-1, 0, 5 * 366 + 1])
    def test_refuses_an_end_that_is_too_near_or_too_far(self, api, days):
        assert field_errors(create(api, expires_at=in_days(days))) == {"expires_at": "out_of_range"}

    def test_takes_whole_numbers_in_any_spelling(self, api):
        text = b'{"reference":"r","title":"t","amount":1500000.0,"currency":"NGN","quantity_max":2.0}'

        answer = api.post(LINKS, text)

        assert (answer.status_code, answer.json()["quantity_max"]) == (201, 2)

    def test_refuses_a_taken_slug_of_any_business(self, api, other_api):
        made(api, slug="bookbinding")

        answer = create(other_api, slug="bookbinding")

        assert (answer.status_code, answer.json()["code"]) == (409, "slug_taken")

    def test_masks_card_numbers_in_texts(self, api):
        link = made(api, description="Card 4084084084084081", support_contact="4084 0840 8408 4081")

        assert (link["description"], link["support_contact"]) == ("Card 408408******4081", "408408******4081")

    def test_takes_an_active_dynamic_account(self, api):
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()

        assert made(api, payment_method_id=account["id"])["payment_method_id"] == account["id"]

    def test_refuses_accounts_that_can_not_receive(self, api, other_api):
        static = api.post("/api/virtual-accounts", orders.static_account()).json()
        dollars = api.post("/api/virtual-accounts", orders.dynamic_account(currency="USD")).json()
        foreign = other_api.post("/api/virtual-accounts", orders.dynamic_account()).json()

        for account in (static, dollars, foreign):
            answer = create(api, payment_method_id=account["id"])
            assert field_errors(answer) == {"payment_method_id": "invalid_payment_method"}

    def test_refuses_if_the_account_for_links_is_something_else(self, api):
        api.post("/api/virtual-accounts", orders.static_account(reference="payment-links-NGN"))

        assert field_errors(create(api)) == {"payment_method_id": "invalid_payment_method"}
        assert create(api, payment_methods=["card"]).status_code == 201


class TestLookUp:
    def test_finds_own_links_only(self, api, other_api):
        link = made(api, reference="workshop")

        assert api.get(f"{LINKS}/workshop").json() == link
        assert other_api.get(f"{LINKS}/workshop").status_code == 404
        assert other_api.get(LINKS).json()["data"] == []

    def test_lists_newest_first_with_filters(self, api):
        old, new = made(api), made(api, currency="USD")
        PaymentLink.objects.filter(pk=old["id"]).update(is_switched_off=True)

        def ids(query):
            return [each["id"] for each in api.get(f"{LINKS}{query}").json()["data"]]

        assert ids("") == [new["id"], old["id"]]
        assert ids("?status=inactive") == [old["id"]]
        assert ids("?status=active") == [new["id"]]
        assert ids("?currency=USD") == [new["id"]]
        assert ids(f"?id={old['id']}") == [old["id"]]
        assert api.get(f"{LINKS}?colour=blue").status_code == 400


class TestStatus:
    @pytest.mark.parametrize(
        ("columns", "status"),
        [
            ({}, "active"),
            ({"expires_at": timezone.now() - timedelta(days=1)}, "expired"),
            ({"expires_at": timezone.now() - timedelta(days=1), "is_switched_off": True}, "inactive"),
            ({"blocked_at": timezone.now(), "block_reason": "fraud"}, "inactive"),
            ({"max_uses": 2, "uses_paid": 2, "is_switched_off": True}, "used_up"),
        ],
    )
    def test_is_the_first_that_holds_in_answers_and_filters(self, api, columns, status):
        link = made(api)
        PaymentLink.objects.update(**columns)

        assert api.get(f"{LINKS}/{link['reference']}").json()["status"] == status
        found = {
            name: len(api.get(f"{LINKS}?status={name}").json()["data"]) for name in PaymentLink.Status.values
        }
        assert found == {**dict.fromkeys(PaymentLink.Status.values, 0), status: 1}

    def test_is_inactive_with_its_business(self, api, ada):
        made(api)
        ada.business.is_active = False
        ada.business.save()

        [link] = PaymentLink.objects.select_related("business")
        assert link.status_at(timezone.now()) == "inactive"


class TestChange:
    def change(self, api, reference, body):
        return api.patch(f"{LINKS}/{reference}", body)

    def test_changes_and_removes_fields(self, api):
        link = made(api, max_uses=20, expires_at=in_days(3), description="Two days")

        answer = self.change(
            api, link["reference"], {"max_uses": 25, "expires_at": None, "title": "Evening class"}
        )

        changed = answer.json()
        assert answer.status_code == 200
        assert (changed["max_uses"], changed["title"], changed["description"]) == (
            25,
            "Evening class",
            "Two days",
        )
        assert "expires_at" not in changed
        assert changed["updated_at"] > link["updated_at"]

    @pytest.mark.parametrize(
        "field", ["reference", "amount", "amount_range", "currency", "quantity_max", "customer", "slug"]
    )
    def test_refuses_fixed_fields(self, api, field):
        link = made(api)

        answer = self.change(api, link["reference"], {field: 1})

        assert (answer.status_code, answer.json()["code"]) == (400, "not_allowed_here")
        assert field_errors(answer) == {field: "not_allowed_here"}

    def test_refuses_to_remove_the_title(self, api):
        assert field_errors(self.change(api, made(api)["reference"], {"title": None})) == {"title": "null"}

    def test_keeps_the_rules_between_fields(self, api):
        chosen = made(api, slug="bookbinding")
        named = made(api, max_uses=1, customer={"reference": "c-1", "email": "a@b.example"})

        assert field_errors(self.change(api, chosen["reference"], {"max_uses": 1})) == {
            "slug": "not_allowed_here"
        }
        assert field_errors(self.change(api, named["reference"], {"max_uses": 2})) == {
            "customer": "not_allowed_here"
        }

    def test_refuses_a_limit_below_what_is_taken(self, api):
        link = made(api, max_uses=10)
        PaymentLink.objects.update(uses_paid=3, uses_held=1)

        refused = self.change(api, link["reference"], {"max_uses": 3})
        accepted = self.change(api, link["reference"], {"max_uses": 4})

        assert (refused.status_code, refused.json()["code"]) == (409, "invalid_state")
        assert (accepted.status_code, accepted.json()["uses_left"]) == (200, 0)

    def test_does_not_judge_an_end_that_stays(self, api):
        link = made(api, expires_at=in_days(1))
        PaymentLink.objects.update(expires_at=timezone.now() - timedelta(days=1))

        assert self.change(api, link["reference"], {"title": "Later"}).status_code == 200

    def test_is_audited(self, api):
        link = made(api, max_uses=20)

        self.change(api, link["reference"], {"max_uses": 25})
        self.change(api, link["reference"], {"max_uses": 25})  # changes nothing

        entries = AuditEntry.objects.filter(action__startswith="payment_link.").order_by("pk")
        assert [(each.action, each.before, each.after) for each in entries][1:] == [
            ("payment_link.changed", {"max_uses": 20}, {"max_uses": 25})
        ]

    def test_fixed_columns_are_kept_by_the_database(self, api):
        made(api, amount=..., amount_range={"min": 10_000, "max": 20_000})

        for change in ({"amount_min": 1}, {"slug": "other-slug"}, {"currency": "USD"}):
            with pytest.raises(DatabaseError, match="keeps"), transaction.atomic():
                PaymentLink.objects.update(**change)


class TestSwitch:
    def test_deactivates_and_activates_repeatedly(self, api):
        reference = made(api)["reference"]

        for action, status in (
            ("deactivate", "inactive"), ("deactivate", "inactive"), ("activate", "active"), ("activate", "active"),
        ):  # fmt: skip
            answer = api.post(f"{LINKS}/{reference}/{action}", {})
            assert (answer.status_code, answer.json()["status"]) == (200, status)

        actions = AuditEntry.objects.order_by("pk").values_list("action", flat=True)
        assert list(actions) == ["payment_link.created", "payment_link.deactivated", "payment_link.activated"]

    def test_does_not_activate_what_the_operator_blocked(self, api):
        link = made(api)
        PaymentLink.objects.update(blocked_at=timezone.now(), block_reason="Prohibited goods")

        answer = api.post(f"{LINKS}/{link['reference']}/activate", {})

        assert (answer.status_code, answer.json()["code"]) == (409, "invalid_state")
        assert api.get(f"{LINKS}/{link['reference']}").json()["block_reason"] == "Prohibited goods"


def test_a_payment_request_has_no_payment_link_id(api):
    answer = api.post("/api/payments", orders.card_payment(payment_link_id="x"))

    assert field_errors(answer) == {"payment_link_id": "unknown_field"}


def test_a_pending_challenge_shows_the_page_where_its_payer_confirms(api, client):
    checkout = begin(link := make_link(api))
    payment = pay_by_card(checkout, orders.CHALLENGED_CARD)

    one = api.get(f"/api/payments/{payment.reference}")
    [listed] = api.get(f"/api/payments?payment_link_id={link.pk}").json()["data"]

    shown = one.json()
    assert (shown["status"], shown["response_code"]) == ("pending", "10001")
    assert listed["redirect_link"] == shown["redirect_link"]
    page = client.get(urlsplit(shown["redirect_link"]).path).content.decode()
    for text in (link.business.name, "NGN 15,000.00", "2503", "Approve", "Decline"):
        assert text in page, text
    assert "redirect_url" not in shown
    assert checkout.token not in one.content.decode()

    api.post(f"/api/payments/{payment.reference}/cancel", {})
    assert "redirect_link" not in api.get(f"/api/payments/{payment.reference}").json()
