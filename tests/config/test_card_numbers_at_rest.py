"""A card number in any field other than `source.pan` is rejected, or masked before it is stored."""

from html import unescape
from urllib.parse import quote
from uuid import uuid4

import pytest
from allauth.usersessions.models import UserSession
from django.apps import apps
from django.core import mail
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import connection, models, transaction
from django.test import Client
from django.utils import timezone

from dashboard.models import PasswordResetRequest
from kit.db.card_number_fields import (
    CheckedEmailField,
    CheckedURLField,
    FreeBytesField,
    FreeTextField,
    FreeTextJSONField,
)
from merchants.models import Business, User
from payments.models import CardOperation, PaymentLink, Proposal, Transaction
from tests import orders
from tests.dashboard.people import passkey_of, signed_in
from tests.factories import MemberFactory, UserFactory
from tests.links import NEW_LINK
from tests.packages import PACKAGES
from tests.transactions import challenged_payment
from tests.unapplied import mismatched_money
from tests.webhooks.rows import acquire, make_delivery, make_endpoint, record
from virtual_accounts.models import VirtualAccount
from webhooks.models import Attempt
from webhooks.sending.sender import Exchange

pytestmark = pytest.mark.django_db

OWN = orders.GOOD_CARD  # the card of the request
NUMBER = "5399831619690403"  # a card that no request uses
MASKED = "539983******0403"
SPACED = "5399 8316 1969 0403"
SPELLINGS = [NUMBER, SPACED, "5399-8316-1969-0403", "5399.8316.1969.0403"]


def stored_text():
    """Return the contents of all tables in the database."""
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        rows = []
        for table in tables:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(table)}")  # noqa: S608
            rows += [str(row) for row in cursor.fetchall()]
    return "\n".join(rows)


def assert_nowhere(*texts):
    for place in (stored_text(), *texts, *(f"{sent.subject} {sent.body}" for sent in mail.outbox)):
        assert [spelling for spelling in SPELLINGS if spelling in place] == []


def spelt(number, separator):
    return separator.join(number[start : start + 4] for start in range(0, 16, 4))


class TestOwnNumber:
    SLOTS = [
        ("reference", {"reference": OWN}),
        ("reference", {"reference": f"order-{spelt(OWN, '.')}"}),
        ("narration", {"narration": f"card {spelt(OWN, ' ')} 12/35"}),
        ("narration", {"narration": spelt(OWN, " / ")}),
        ("narration", {"narration": spelt(OWN, "\u2009")}),
        ("narration", {"narration": "".join(chr(ord(digit) + 0xFEE0) for digit in OWN)}),
        ("redirect_url", {"redirect_url": f"https://shop.example/back?card={OWN}"}),
        ("redirect_url", {"redirect_url": f"https://shop.example/{spelt(OWN, '%20')}"}),
        ("metadata.card", {"metadata": {"card": spelt(OWN, "-")}}),
        ("metadata", {"metadata": {OWN: "card"}}),
        ("customer.reference", {"customer": {"reference": OWN, "email": "ada@example.com"}}),
        ("customer.email", {"customer": {"reference": "c", "email": f"{OWN}@example.com"}}),
        (
            "customer.name",
            {"customer": {"reference": "c", "email": "a@example.com", "name": spelt(OWN, " ")}},
        ),
        ("source.name", {"source": orders.card_source(name=spelt(OWN, " "))}),
        (
            "source.billing_address.address_line1",
            {"source": orders.card_source(billing_address={"address_line1": f"{OWN} Marina"})},
        ),
    ]

    @pytest.mark.parametrize(("field", "changes"), SLOTS)
    def test_in_another_field_is_rejected(self, api, field, changes):
        answer = api.post("/api/payments", orders.card_payment(**changes))

        problem = answer.json()
        assert (answer.status_code, problem["code"]) == (400, "card_number_misplaced")
        assert [(error["field"], error["code"]) for error in problem["errors"]] == [
            (field, "card_number_misplaced")
        ]
        assert OWN not in answer.content.decode()
        assert not Transaction.objects.exists()

    @pytest.mark.parametrize(
        "changes",
        [
            {"reference": OWN},
            {"metadata": {"card": OWN}},
            {"source": orders.card_source(type="card", name=OWN)},
        ],
    )
    def test_in_another_field_of_a_card_check_is_rejected(self, api, changes):
        answer = api.post("/api/payments", orders.card_check(**changes))

        assert (answer.status_code, answer.json()["code"]) == (400, "card_number_misplaced")
        assert not Transaction.objects.exists()

    def test_is_reported_for_every_field_at_once(self, api):
        answer = api.post("/api/payments", orders.card_payment(reference=OWN, narration=OWN))

        assert {error["field"] for error in answer.json()["errors"]} == {"reference", "narration"}

    def test_with_spaces_in_the_card_is_the_same_number(self, api):
        order = orders.card_payment(source=orders.card_source(pan=spelt(OWN, " ")), narration=OWN)

        assert api.post("/api/payments", order).status_code == 400


class TestIdentifiers:
    def test_and_metadata_are_stored_as_sent(self, api):
        sent = {
            "reference": NUMBER,
            "metadata": {"order": NUMBER},
            "redirect_url": f"https://shop.example/{NUMBER}",
            "customer": {"reference": NUMBER, "email": f"{NUMBER}@example.com"},
        }

        answer = api.post("/api/payments", orders.card_payment(**sent)).json()

        assert (answer["reference"], answer["metadata"]) == (NUMBER, {"order": NUMBER})
        row = Transaction.objects.get()
        assert (row.customer_reference, row.customer_email) == (NUMBER, f"{NUMBER}@example.com")
        assert row.redirect_url == sent["redirect_url"]


@pytest.mark.parametrize("number", [SPACED])
class TestApi:
    def test_masks_the_narration_and_the_names_of_payments(self, api, number):
        customer = {"reference": "c", "email": "ada@example.com", "name": f"Ada {number}"}
        payment = orders.card_payment(narration=f"card {number}", customer=customer)
        payout = orders.payout(narration=number)
        payout["customer"]["name"] = number

        answers = [api.post("/api/payments", order) for order in (payment, payout)]

        assert [answer.status_code for answer in answers] == [201, 201]
        assert answers[0].json()["narration"] == f"card {MASKED}"
        assert_nowhere(*(answer.content.decode() for answer in answers))

    def test_masks_the_reason_of_a_refund(self, api, number):
        payment = api.post("/api/payments", orders.card_payment()).json()
        refund = {"reference": "rf-1", "amount": 1, "reason": f"card {number}"}

        answers = [api.post(f"/api/payments/{payment['reference']}/refunds", refund) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [201, 200]
        assert CardOperation.objects.get().reason == f"card {MASKED}"
        assert_nowhere(*(answer.content.decode() for answer in answers))

    @pytest.mark.parametrize("make", [orders.dynamic_account, orders.static_account, orders.business_account])
    def test_masks_names_and_addresses_of_accounts(self, api, make, number):
        texts = {"address_line1": number, "address_line2": number, "city": number, "state": number}
        names = ["business_name"] if make is orders.business_account else ["first_name", "last_name"]
        account = make(address=orders.address(**texts), **dict.fromkeys(names, f"Ada {number}"))

        answers = [api.post("/api/virtual-accounts", account) for _ in range(2)]

        assert [answer.status_code for answer in answers] == [201, 200]
        assert answers[0].json() == answers[1].json()
        assert VirtualAccount.objects.get().address["city"] == MASKED
        assert_nowhere(*(answer.content.decode() for answer in answers))

    def test_masks_the_name_of_a_sender_before_truncation(self, api, number):
        account = api.post("/api/virtual-accounts", orders.static_account()).json()
        name = f"{'A' * 88} {number}"
        transfer = {"account_number": account["customer"]["account_number"], "amount": 5, "sender_name": name}

        assert api.post("/api/virtual-accounts/simulate", transfer).status_code == 200
        assert "53998316" not in stored_text()
        assert_nowhere()


@pytest.fixture
def owner(ada):
    return MemberFactory(business=ada.business, user__email="ada@example.com").user


@pytest.fixture
def browser(owner):
    return signed_in(owner, client=Client())


@pytest.fixture
def staff(db):
    return signed_in(
        UserFactory(email="staff@example.com", is_staff=True, is_superuser=True), client=Client()
    )


@pytest.mark.parametrize("number", [SPACED])
class TestDashboard:
    def test_masks_the_reason_of_a_refund(self, api, browser, number):
        payment = api.post("/api/payments", orders.card_payment()).json()
        form = {"reference": "rf-1", "amount": "1", "reason": f"card {number}"}

        address = f"/dashboard/payments/{payment['id']}/refund/"
        assert_nowhere(browser.post(address, form).content.decode())
        shown = browser.post(address, form | {"step": "confirmed"}, follow=True)

        assert CardOperation.objects.get().reason == f"card {MASKED}"
        assert_nowhere(shown.content.decode())

    def test_masks_a_payout(self, browser, number):
        form = {
            "step": "confirmed", "accepted": "on", "reference": "po-1", "currency": "NGN", "amount": "100", "bank_code": "058",
            "account_number": "0123456789", "name": f"Ada {number}", "narration": number,
        }  # fmt: skip

        shown = browser.post("/dashboard/payouts/new/", form, follow=True)

        assert Transaction.objects.get().customer_name == f"Ada {MASKED}"
        assert_nowhere(shown.content.decode())

    def test_masks_the_texts_of_a_payment_link(self, browser, number):
        texts = ("title", "description", "label_1", "success_message", "support_contact")
        form = NEW_LINK | dict.fromkeys(texts, f"text {number}")

        refused = browser.post("/dashboard/payment-links/new/", form | {"amount": number})
        shown = browser.post("/dashboard/payment-links/new/", form, follow=True)
        changed = browser.post(f"{shown.request['PATH_INFO']}edit/", form | {"title": number}, follow=True)

        link = PaymentLink.objects.get()
        assert (link.title, link.description) == (MASKED, f"text {MASKED}")
        assert_nowhere(*(each.content.decode() for each in (refused, shown, changed)))

    def test_masks_the_decision_about_a_transfer(self, browser, ada, number):
        money = mismatched_money(business=ada.business, now=timezone.now())

        browser.post(
            f"/dashboard/virtual-accounts/unapplied/{money.pk}/",
            {"decision": "credit", "reason": f"card {number}", "step": "confirmed"},
            follow=True,
        )

        money.refresh_from_db()
        assert money.reason == f"card {MASKED}"
        assert_nowhere()

    def test_masks_names_of_people_and_keys(self, browser, owner, number):
        browser.post("/dashboard/account/name/", {"name": f"Ada {number}"}, follow=True)
        browser.post("/dashboard/developers/keys/new/", {"name": number, "access": "full", "once": uuid4()})

        owner.refresh_from_db()
        assert MASKED in f"{owner.name}"
        assert_nowhere()

    def test_masks_names_in_mails(self, browser, owner, ada, number):
        Business.objects.update(name=f"Shop {number}")
        User.objects.update(name=f"Ada {number}")

        browser.post("/dashboard/team/invite/", {"email": "chidi@example.com", "role": "viewer"})

        (sent,) = mail.outbox
        assert MASKED in f"{sent.subject} {sent.body}"
        assert_nowhere()

    def test_rejects_an_invitation_to_a_card_number(self, browser, number):
        email = f"{number.replace(' ', '-')}@example.com"

        shown = browser.post("/dashboard/team/invite/", {"email": email, "role": "viewer"}, follow=True)

        assert "may not hold a card number" in unescape(shown.content.decode())
        assert_nowhere()

    def test_rejects_it_in_the_webhook_url(self, browser, number):
        form = {"url": f"https://shop.example/{quote(number)}", "payment": "on", "enabled": "on"}

        shown = browser.post("/dashboard/webhooks/", form, follow=True)

        assert "may not hold a card number" in unescape(shown.content.decode())
        assert_nowhere()

    def test_rejects_it_in_a_password_reset_request(self, number):
        email = f"{number.replace(' ', '-')}@example.com"

        shown = Client().post("/dashboard/login/forgotten/", {"email": email})

        assert "may not hold a card number" in unescape(shown.content.decode())
        assert not PasswordResetRequest.objects.exists()
        with pytest.raises(ValidationError), transaction.atomic():
            PasswordResetRequest.objects.create(email=email, requested_at=timezone.now())
        assert_nowhere()

    def test_masks_the_name_of_a_passkey(self, owner, number):
        passkey = passkey_of(owner, name=f"Phone {number}")

        assert passkey.wrap().name == f"Phone {MASKED}"
        assert_nowhere()

    def test_masks_the_user_agent(self, owner, number):
        owner.set_password("a good long password")
        owner.save()
        browser = Client(headers={"User-Agent": f"Browser {number}"})

        browser.post("/dashboard/login/", {"email": owner.email, "password": "a good long password"})

        assert UserSession.objects.get().user_agent == f"Browser {MASKED}"
        assert_nowhere()

    def test_masks_it_in_a_repeated_search(self, subtests, browser, number):
        for area in [
            "payments",
            "payouts",
            "payment-links",
            "virtual-accounts",
            "webhooks/deliveries",
            "developers/requests",
            "sandbox",
        ]:
            with subtests.test(area=area):
                shown = browser.get(f"/dashboard/{area}/", {"q": number}).content.decode()

                assert MASKED in shown
                assert_nowhere(shown)


@pytest.mark.parametrize("number", [SPACED])
class TestAdministration:
    def test_masks_the_note_of_a_top_up(self, staff, ada, settings, number):
        settings.FOUR_EYES = False
        form = {"business": ada.business.pk, "currency": "NGN", "amount": 5, "note": number, "cause": uuid4()}

        shown = staff.post("/admin/ledger/entry/add/", form, follow=True)

        assert shown.status_code == 200
        assert MASKED in stored_text()
        assert_nowhere()
        call_command("check_ledger")

    def test_masks_a_proposal(self, staff, ada, settings, number):
        settings.FOUR_EYES = True
        form = {"business": ada.business.pk, "currency": "NGN", "amount": 5, "note": number, "cause": uuid4()}

        staff.post("/admin/ledger/entry/add/", form, follow=True)

        assert Proposal.objects.get().reason == MASKED
        assert_nowhere()

    def test_masks_a_repeated_search(self, staff, number):
        shown = staff.get("/admin/payments/transaction/", {"q": number}).content.decode()

        assert MASKED in shown
        assert_nowhere(shown)


@pytest.mark.parametrize("number", [SPACED])
class TestCommands:
    def test_mask_the_name_of_a_business(self, number, capsys):
        call_command("create_business", name=f"Ada {number}", email="ada@example.com")

        assert Business.objects.get().name == f"Ada {MASKED}"
        assert_nowhere(capsys.readouterr().out)

    def test_reject_the_address_of_its_owner(self, number):
        with pytest.raises((CommandError, ValidationError)):
            call_command("create_business", name="Ada", email=f"{number.replace(' ', '-')}@example.com")

        assert_nowhere()

    def test_reject_it_in_the_webhook_url(self, ada, number):
        url = f"https://shop.example/{quote(number)}"
        with pytest.raises(CommandError, match="may not hold a card number"):
            call_command("configure_webhook", business=str(ada.business.pk), url=url, events="payment")

        assert_nowhere()


class TestOtherServers:
    def test_statement_that_records_attempts_masks_them(self):
        make_delivery(make_endpoint())
        exchange = Exchange(status=400, explanation=NUMBER, total_ms=1.0, excerpt=b"\xff" + NUMBER.encode())

        record(acquire(), exchange)

        attempt = Attempt.objects.get()
        assert (attempt.explanation, bytes(attempt.excerpt)) == (MASKED, b"\xff" + MASKED.encode())

    @pytest.mark.parametrize("number", [SPACED])
    def test_answers_of_rails_are_masked(self, ada, number):
        row = challenged_payment(business=ada.business, now=timezone.now())

        Transaction.objects.filter(pk=row.pk).update(response_summary=f"No card {number}")

        row.refresh_from_db()
        assert row.response_summary == f"No card {MASKED}"


# Text columns without user input, or stored as sent, with the reason.
KEPT = {
    "identifiers, as sent": {
        "reference", "root_reference", "duplicate_of", "customer_reference", "payout_reference", "bank_reference", "cause",
        "nonce", "target",
        "request_id", "public_id",
    },
    "numbers by currency": {
        "minimum_amounts", "per_payout", "per_day", "per_beneficiary_and_day", "new_beneficiaries", "approval_above",
        "two_approvals_above", "caps",
    },
    "as sent": {"metadata", "customer_email", "email", "redirect_url"},
    "identifiers of an acquirer, as it sent them": {
        "gateway_code", "retrieval_reference_number", "acquirer_transaction_id", "authorization_code", "acquirer_reference",
    },
    "the code of a problem": {"code"},
    "an e-mail address of a user, or the name of a command": {"actor", "agreed_by", "declared_by", "resolved_by", "imported_by", "matched_by", "booked_by", "unfunded_by", "unfunded_confirmed_by", "invoice_sent_by", "created_by", "accepted_by", "released_by", "cancelled_by"},
    "masked by `dashboard.search.terms`": {"term"},
    "a list of ours": {"list"},
    "of the operator, from the settings": {"seller_name", "seller_address", "seller_tax_id"},
    "the name of a time zone": {"time_zone"},
    "of a payment link: chosen from lists of ours, or digits and letters": {
        "payment_methods", "collect", "method", "suggested_amounts", "slug", "network",
    },
    "keyed hashes of card numbers and ids": {"card_hash", "attempt_key"},
    "made here, or by a connector": {
        "reader", "resume_after", "read_up_to",
        "response_code", "fee_rule", "provider", "challenge_preference", "connector", "account", "connector_account", "former", "present", "merchant_descriptor",
        "gateway_recommendation", "tallies",
        "unfinished", "steps", "parameters", "made_about", "confirmers", "differences", "subscribed_events", "body", "error",
        "currencies", "lane", "server", "token", "token_hash", "fingerprint", "card_number_hash", "bvn_hash",
        "password", "card_acquirer", "payout_bank", "pays_out", "receives", "bank_name", "attribute", "before", "after", "why", "key",
        "file_hash", "previous_hash", "hash", "digest", "last_answer",
    },
}  # fmt: skip
NAMES_OF_OURS = {
    "payments.Challenge.url",  # a provider's, which must stay as it was sent
    "payments.PayoutControlsChange.changes",  # numbers by currency, and an address that was checked
    "payments.ReconciliationLine.kind",
    "config.Heartbeat.name",
    "payments.TraceCounter.name",
    "payout_batches.WorkLease.name",
    "merchants.AuditEntry.action",
    "merchants.Logo.content",  # an image
    "cash.Break.item_kind",
    "payments.FeeInvoiceLine.kind",
    "payments.JournalLeg.kind",
    "payments.JournalLeg.name",
    "cash.MatchedItem.kind",
    "cash.BankAccount.csv_mapping",  # headings of a file
    "cash.BankAccount.name",  # lowercase letters, digits and hyphens
    "cash.BankAccount.number",  # of an account of ours
    # Refused in files if it looks like a card number; a provider's own otherwise.
    "disputes.CaseQuery.case_number",
    "disputes.Dispute.case_number",
    "disputes.CaseQuery.last_error",  # the type of an error
    "disputes.Dispute.answer",  # made here
    "disputes.DisputeEvidence.sha256",
    "disputes.DisputeEvidence.type",
    "disputes.DisputeFile.content",  # an image or a PDF
    "disputes.DisputeReport.told",  # masked by `disputes.rules.report_format`
    "ledger.Account.name",  # a bank account's, or our account at a connector
    "merchants.LimitSlot.subject",
    # Our account at a provider, from the settings.
    *(
        f"virtual_accounts.{model}.provider_account"
        for model in (
            "AccountNumber",
            "ProviderMessage",
            "Session",
            "Transfer",
            "UnclaimedTransfer",
            "VirtualAccount",
        )
    ),
    "virtual_accounts.ProviderMessage.subject",  # an id of ours, or of a transaction at a provider
    "webhooks.Exam.answers",  # statuses and times
    "webhooks.Exam.requests",  # made here
    "webhooks.Exam.listener",  # an identifier, as sent
    "webhooks.Listener.events",
    "webhooks.Listener.name",  # an identifier, as sent
}


def test_every_text_column_is_masked_checked_or_named_here():
    policy = (FreeTextField, FreeTextJSONField, FreeBytesField, CheckedEmailField, CheckedURLField)
    known = set().union(*KEPT.values())
    forgotten = {
        str(field)
        for model in apps.get_models()
        if model._meta.app_label in PACKAGES
        for field in model._meta.concrete_fields
        if isinstance(field, models.CharField | models.TextField | models.JSONField | models.BinaryField)
        and not isinstance(field, policy)
        and type(field).__name__ != "EncryptedTextField"
        and not field.choices
        and (field.max_length or 99) >= 12
        and field.name not in known
    }

    assert sorted(forgotten - NAMES_OF_OURS) == [], (
        "Use a field of kit.db.card_number_fields, or name it in KEPT."
    )


def test_models_mask_what_is_assigned_and_what_is_updated(ada):
    ada.business.name = NUMBER
    assert ada.business.name == MASKED

    User.objects.create_user("a@example.com", None, name="Ada")
    User.objects.update(name=NUMBER)
    assert User.objects.get().name == MASKED
