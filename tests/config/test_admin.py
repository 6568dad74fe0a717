"""Admin pages open with any stored data, show no secrets, delete nothing and require reasons."""

import io
import re
import uuid
from datetime import timedelta

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.db.models import BigIntegerField, PositiveBigIntegerField
from django.test import Client, RequestFactory, override_settings
from django.urls import reverse
from django.utils import timezone

from cash.models import BankAccount, Break, Match
from cash.services.imports import Source
from connectors.models import ProviderEvent
from ledger.models import Account, Entry, Posting
from merchants.admin import ReasonForm
from merchants.admin.base import REACH
from merchants.models import ApiKey, AuditEntry, Business, User
from operations.administration import attention
from payments.models import (
    AccountDeclaration,
    BatchTransition,
    Beneficiary,
    CardOperation,
    Checkout,
    Debt,
    Holiday,
    Journal,
    PaymentLink,
    PayoutReturn,
    Proposal,
    RailBlock,
    RailChoice,
    Reconciliation,
    ReconciliationLine,
    ReserveHold,
    RiskTerms,
    SettlementBatch,
    SettlementItem,
    Tariff,
    Transaction,
    Transition,
    WatchedAuthorisation,
)
from payments.models.transactions.watches import WATCHED_FOR
from payments.services import fee_rules
from payments.services.links import links
from payments.services.payouts import payout_returns
from payments.services.rails import requery
from payments.services.reconciliation import breaks
from payments.services.transfers import account_deactivation, incoming
from payments.services.transfers.incoming import Notice
from tests import fee_invoices, orders
from tests.bank_statements import bank_account, csv_statement
from tests.dashboard.people import signed_in
from tests.disputed import disputed, take
from tests.factories import MemberFactory, UserFactory
from tests.journals import adjusted
from tests.links import begin, make_link, pay_by_card
from tests.reserves import agree
from tests.settlement_accounts import settlement_account
from tests.settling import settle
from tests.staff_pages import Forms
from tests.transactions import authorised_payment, captured_payment, expire_now
from tests.wallets import STAFF, fill_wallet
from tests.webhooks.rows import KEY, make_delivery, make_endpoint
from virtual_accounts.models import AccountNumber, Session, Transfer, UnappliedMoney, VirtualAccount
from webhooks.models import Attempt, Delivery, Endpoint

admin.autodiscover()

pytestmark = [pytest.mark.django_db, pytest.mark.long]

NASTY = "<script>alert(1)</script>\"'><img src=x onerror=1>\u202etxt.exe\u2066" + "w" * 40
MODELS = [
    "merchants.Business", "merchants.User", "auth.Group", "merchants.ApiKey", "merchants.AuditEntry",
    "ledger.Account", "ledger.Entry", "ledger.Posting",
    "virtual_accounts.VirtualAccount", "virtual_accounts.AccountNumber", "virtual_accounts.Session",
    "virtual_accounts.Transfer", "virtual_accounts.UnappliedMoney", "virtual_accounts.UnclaimedTransfer",
    "virtual_accounts.ProviderMessage",
    "webhooks.Endpoint", "webhooks.Delivery", "connectors.ProviderEvent",
    "payments.Transaction", "payments.CardOperation", "payments.SettlementBatch", "payments.SettlementItem",
    "payments.Tariff", "payments.RailChoice", "payments.RailBlock", "payments.AccountDeclaration", "payments.PayoutReturn", "payments.Reconciliation",
    "payments.ReconciliationLine", "payments.Proposal", "payments.PaymentLink", "payments.Checkout",
    "payments.WatchedAuthorisation", "disputes.Dispute", "disputes.DisputeReport",
    "payments.RiskTerms", "payments.ReserveHold", "payments.Debt", "payments.Holiday", "payments.SettlementAccount", "payments.Beneficiary", "connectors.RefusedCapture",
    "cash.BankAccount", "cash.Statement", "cash.StatementLine", "cash.Match", "cash.Break",
    "payments.Journal", "payments.FeeInvoice",
]  # fmt: skip
# Models without money, changed here with a reason, and models whose new rows replace earlier ones.
CHANGED = {Business, User, Group, RailChoice, BankAccount, Break, Holiday}
SORTED = {SettlementBatch: ("day_and_number",)}  # an index carries it
ADDED = {
    Entry,
    Tariff,
    PayoutReturn,
    RailChoice,
    Group,
    AccountDeclaration,
    RiskTerms,
    BankAccount,
    Match,
    Journal,
    Holiday,
}


@pytest.fixture
def staff(db):
    return signed_in(
        UserFactory(email="staff@example.com", is_staff=True, is_superuser=True), client=Client()
    )


@pytest.fixture
def view_only(db):
    """A member of staff with all view permissions and no others."""
    person = UserFactory(email="looks@example.com", is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    return signed_in(person, client=Client())


@pytest.fixture
def late_money(api):
    """Return unapplied money: a second transfer to a session that was already paid."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    opened = api.post("/api/payments", orders.transfer_payment(account, reference="transfer-1")).json()
    number = opened["virtual_account_details"]["account_number"]
    for _ in range(2):
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": opened["amount"]})
    return UnappliedMoney.objects.get()


@pytest.fixture
def everything(ada, api, late_money):
    """Store at least one row of each model, with untrusted text."""
    now = timezone.now()
    Business.objects.filter(pk=ada.business_id).update(name=NASTY[:200])
    ada.business.refresh_from_db()
    MemberFactory(business=ada.business)
    Group.objects.create(name=NASTY)
    api.post("/api/virtual-accounts", orders.static_account())
    paid = api.post("/api/payments", orders.card_payment(reference="card-1", narration=NASTY)).json()
    (batch,) = settle()
    agree(ada.business, reserve_fixed=1)
    ReserveHold.objects.create(
        id=uuid.uuid4(), business=ada.business, currency="NGN", batch=batch, amount=1, left=1, created_at=now
    )
    Debt.objects.create(id=uuid.uuid4(), business=ada.business, currency="NGN", since=now, ended_at=now)
    Debt.objects.create(
        id=uuid.uuid4(),
        business=ada.business,
        currency="NGN",
        since=now,
        invoice_sent_on=now,
        invoice_sent_by=NASTY,
    )
    settlement_account(ada.business, account_name=NASTY)
    Holiday.objects.create(currency="NGN", day=now.date(), name=NASTY[:100])
    refund = {"reference": "refund-1", "amount": 100, "reason": NASTY}
    api.post("/api/payments/card-1/refunds", refund)
    fill_wallet(ada.business, 10_000_000)
    payout = api.post("/api/payments", orders.payout(reference="payout-1")).json()
    assert (paid["status"], payout["status"]) == ("success", "success")
    payout_returns.reverse(transaction_id=uuid.UUID(payout["id"]), reason=NASTY, actor=STAFF, now=now)
    fee_rules.agree(Tariff(business=ada.business, flow="card"), actor=STAFF, now=now, reason=NASTY)
    RailChoice.objects.create(business=ada.business)
    AccountDeclaration.objects.create(
        connector="http", former=NASTY, present="http:bank", declared_by=NASTY, declared_at=now
    )
    late_charge(ada.business, now=now)
    RailBlock.objects.create(
        id=uuid.uuid4(),
        connector="http",
        account=NASTY,
        reason=NASTY,
        order_id=payout["id"],
        since=now,
        probed_at=now,
    )
    account_deactivation.deactivate(VirtualAccount.objects.get(type="static").pk, now=now)
    odd = Notice(
        bank_reference="nip-1", account_number="0123456789", amount=1, currency="NGN", sender_name=NASTY,
        narration=NASTY, extra_members={NASTY: NASTY},
    )  # fmt: skip
    incoming.receive_notification(odd)
    endpoint = make_endpoint(business=ada.business)
    delivery = make_delivery(endpoint, state=Delivery.State.DEAD)
    Attempt.objects.create(
        delivery=delivery, number=1, started_at=now, total_ms=1, explanation=NASTY, excerpt=NASTY.encode()
    )
    ProviderEvent.objects.create(
        id=uuid.uuid4(), provider="checkout", event_key=NASTY[:64], kind=NASTY[:60], references=[NASTY], body=NASTY.encode(),
        transaction=Transaction.objects.get(pk=paid["id"]), outcome=NASTY, received_at=now, last_received_at=now,
    )  # fmt: skip
    ProviderEvent.objects.create(
        id=uuid.uuid4(), provider="checkout", event_key="refused", kind="payment_capture_declined", references=[], body=b"{}",
        transaction=Transaction.objects.get(pk=paid["id"]), received_at=now, last_received_at=now,
    )  # fmt: skip
    Beneficiary.objects.create(
        id=uuid.uuid4(), business=ada.business, reference="kano", fingerprint="0" * 64, name=NASTY, account_number="0690213447",
        bank_code="044", currency="NGN", note=NASTY, verification="unverified", created_at=now, blocked_at=now,
        block_reason=NASTY,
    )  # fmt: skip
    adjusted(ada.business, -5, code="recovery", text=NASTY)
    with override_settings(SELLER_NAME=NASTY, SELLER_ADDRESS=NASTY, SELLER_TAX_ID=NASTY[:40]):
        fee_invoices.issue()
    account = bank_account(bank=NASTY[:80], receives=["hosting_bank"])
    content = csv_statement(
        (timezone.localdate(), 1, "nip-1", NASTY), (timezone.localdate(), 2, NASTY, NASTY)
    )
    source = Source(file=io.BytesIO(content.encode()), name=NASTY)
    breaks.import_file(account, source, actor=STAFF, now=now)
    compared = Reconciliation.objects.create(
        id=uuid.uuid4(), source="both", file_name=NASTY, file_hash="0" * 64, first_day=now, last_day=now,
        matched=0, different=0, missing_here=1, missing_there=0, actor=NASTY, at=now,
    )  # fmt: skip
    ReconciliationLine.objects.create(
        reconciliation=compared, result="missing_here", line=1, reference=NASTY, amount=1, currency="NGN",
        day=now, direction="in", differences={"reference": NASTY},
    )  # fmt: skip
    link = make_link(api, title=NASTY[:80].replace("\u202e", "").replace("\u2066", ""), slug="bookbinding")
    pay_by_card(begin(link, name=NASTY, answers={"size": NASTY}))
    links.block(link_id=link.pk, reason=NASTY, actor=STAFF, now=now)
    disputed(Transaction.objects.get(pk=paid["id"]), network_reason=NASTY[:100], amount=100)
    take(Transaction.objects.get(pk=paid["id"]), case_number=NASTY[:64], rrn="0" * 12)
    proposer = UserFactory(email="proposer@example.com", is_staff=True)
    Proposal.objects.create(
        id=uuid.uuid4(), action="reverse_payout", target=payout["id"], business=ada.business, currency="NGN", amount=1,
        parameters={NASTY[:40]: NASTY}, reason=NASTY, evidence=NASTY, proposed_by=proposer, created_at=now,
        expires_at=now + timedelta(days=1),
    )  # fmt: skip
    texts = {
        Transaction: ("customer_name", "narration", "redirect_url"),
        VirtualAccount: ("first_name", "email"),
        Endpoint: ("url",),
        ApiKey: ("name",),
    }
    for model, names in texts.items():
        model.objects.update(**dict.fromkeys(names, NASTY))


def late_charge(business, *, now):
    """Return the watch of a failed payment whose charge was found today, and isn't paid back yet."""
    failed = captured_payment(business=business, now=now, amount=10_051)
    watch = WatchedAuthorisation(
        id=uuid.uuid4(), transaction=failed, opened_at=now, until=now + WATCHED_FOR, next_look_at=now
    )
    watch.save(force_insert=True)
    watch.find_charge("pay_1", 10_051, now=now)
    return watch


def page(model, end="changelist", *args):
    return reverse(f"admin:{model._meta.app_label}_{model._meta.model_name}_{end}", args=args)


def words(answer):
    """Return the text of a page after checking that it opened."""
    assert answer.status_code == 200
    return answer.content.decode()


def registered():
    return {model._meta.label: (model, site) for model, site in admin.site._registry.items()}


class TestEveryModel:
    def test_is_in_the_table(self):
        assert set(registered()) == set(MODELS)

    def test_cannot_be_deleted_and_is_changed_only_as_intended(self, subtests):
        for label in MODELS:
            with subtests.test(label=label):
                model, shown = registered()[label]
                request = RequestFactory().get("/")
                request.user = User(is_superuser=True, is_staff=True, is_active=True)

                assert not shown.has_delete_permission(request)
                assert "delete_selected" not in shown.get_actions(request)
                assert shown.has_change_permission(request) == (model in CHANGED)
                assert shown.has_add_permission(request) == (model in ADDED)
                for inline in shown.inlines:
                    row = inline(model, admin.site)
                    assert not row.has_delete_permission(request)
                    assert not row.has_change_permission(request)
                    assert not row.has_add_permission(request)

    def test_has_lists_that_neither_count_nor_sort_everything(self, subtests):
        for label in MODELS:
            with subtests.test(label=label):
                model, shown = registered()[label]

                assert not shown.show_full_result_count
                assert shown.sortable_by == SORTED.get(model, ())
                assert shown.show_facets == admin.ShowFacets.NEVER
                assert shown.searches
                assert shown.search_help_text

    def test_shows_amounts_as_money(self, subtests):
        for label in MODELS:
            with subtests.test(label=label):
                model, shown = registered()[label]
                amounts = {
                    field.name
                    for field in model._meta.fields
                    if type(field) in {BigIntegerField, PositiveBigIntegerField}
                    and not field.name.endswith(("sequence", "_through"))
                }

                assert amounts == set(getattr(shown, "amounts", ()))


class TestPages:
    def test_format_amounts(self, staff, api):
        api.post("/api/payments", orders.card_payment(amount=1_234_500))
        payment = Transaction.objects.get()

        for address in (page(Transaction), page(Transaction, "change", payment.pk), page(Account)):
            assert "NGN 12,345.00" in words(staff.get(address))
        assert words(staff.get(page(Transaction, "change", payment.pk))).count("Amount captured") == 1

    def test_are_labelled_for_people(self, late_money):
        session = Session.objects.get()

        assert str(late_money) == f"NGN {late_money.amount / 100:,.2f} (open)"
        assert str(session) == f"{session.number_id}: NGN {session.expected_amount / 100:,.2f}"

    def test_write_dates_in_breadcrumbs_as_elsewhere(self, staff, everything):
        for model in map(apps.get_model, MODELS):
            shown = staff.get(page(model, "change", model.objects.first().pk)).content.decode()
            crumbs = shown.partition('class="breadcrumbs"')[2].partition("</div>")[0]

            assert crumbs, model
            assert not re.search(r"\d{4}-\d{2}-\d{2}", crumbs), crumbs

    def test_open_with_any_stored_data(self, staff, everything, django_assert_max_num_queries):
        for label in MODELS:
            model = apps.get_model(label)
            with django_assert_max_num_queries(20):
                listed = words(staff.get(page(model)))
            rows = list(model.objects.all())
            assert rows, f"nothing is stored of {label}"
            for row in rows:
                shown = words(staff.get(page(model, "change", row.pk)))
                for text in (listed, shown):
                    assert "<script>alert" not in text, label
                    assert "<img src=x" not in text, label
                answer = staff.post(page(model, "delete", row.pk), {"post": "yes"})
                assert answer.status_code == 403, label

    def test_that_are_read_only_load_no_scripts_of_forms(self, staff, everything):
        payment = Transaction.objects.first()

        shown = staff.get(page(Transaction, "change", payment.pk)).content.decode()
        batches = staff.get(page(SettlementBatch)).content.decode()

        for script in ("jquery", "RelatedObjectLookups", "xregexp", "inlines", "prepopulate"):
            assert script not in shown
        assert "admin/js/actions" in batches  # selects all rows

    def test_with_a_search_for_a_row_load_its_scripts(self, staff):
        shown = staff.get(page(Entry, "add")).content.decode()

        assert shown.index("jquery") < shown.index("admin/js/autocomplete")

    def test_show_no_secret(self, staff, everything, ada):
        account = VirtualAccount.objects.exclude(bvn_hash="").get()
        secrets = [ada.secret, KEY, account.bvn, account.bvn_hash, Checkout.objects.get().token]
        assert all(secrets)

        pages = [page(model) for model in map(apps.get_model, MODELS)]
        pages += [
            page(model, "change", row.pk)
            for model in (
                Business,
                ApiKey,
                Endpoint,
                VirtualAccount,
                Delivery,
                AuditEntry,
                PaymentLink,
                Checkout,
            )
            for row in model.objects.all()
        ]

        for address in pages:
            text = words(staff.get(address))
            assert not [secret for secret in secrets if secret in text], address
        assert "pbkdf2" not in words(staff.get(page(User, "change", User.objects.first().pk)))

    @pytest.mark.servers
    def test_open_for_staff_with_view_permissions(self, view_only, everything):
        for label in MODELS:
            model = apps.get_model(label)
            words(view_only.get(page(model, "change", model.objects.first().pk)))
            assert view_only.post(page(model, "change", model.objects.first().pk)).status_code == 403
            assert view_only.get(page(model)).status_code == 200

    @pytest.mark.servers
    def test_accept_any_search(self, subtests, staff):
        for label in MODELS:
            for term in ["a\0b", "%", "'", "12345678901234567890", "\u0664\u0664\u0664\u0664", NASTY]:
                with subtests.test(label=label, term=term):
                    assert staff.get(page(apps.get_model(label)), {"q": term}).status_code == 200

    def test_ignore_filters_that_match_nothing(self, subtests, staff):
        for label in MODELS:
            with subtests.test(label=label):
                model = apps.get_model(label)

                for each in admin.site.get_model_admin(model).list_filter:
                    name = each if isinstance(each, str) else getattr(each, "parameter_name", None)
                    if name:
                        answer = staff.get(page(model), {name: "a\0b"})
                        assert (answer.status_code, answer.headers["Location"]) == (302, f"{page(model)}?e=1")


@pytest.mark.servers
class TestSearch:
    @pytest.fixture
    def card(self, api):
        order = orders.card_payment(
            reference="card-1", customer={"reference": "c", "email": "Ann@Example.com"}
        )
        api.post("/api/payments", order)
        api.post("/api/payments", orders.card_payment(reference="other", source__pan="5555555555554444"))
        api.post("/api/payments/card-1/refunds", {"reference": "refund-1", "amount": 100})
        return Transaction.objects.get(reference="card-1")

    @pytest.mark.parametrize(
        "term",
        [
            "reference",
            "pk",
            "retrieval_reference_number",
            "system_trace_audit_number",
            "card_last4",
            "customer_email",
        ],
    )
    def test_finds_a_payment_by(self, staff, card, term):
        found = words(
            staff.get(
                page(Transaction),
                {
                    "q": str(getattr(card, term)).upper()
                    if "@" in str(getattr(card, term))
                    else str(getattr(card, term))
                },
            )
        )

        assert f"/{card.pk}/change/" in found
        assert ">other<" not in found

    def test_finds_a_payment_by_its_refund_and_its_business(self, staff, card):
        for term in ("refund-1", "ada bo"):
            assert f"/{card.pk}/change/" in words(staff.get(page(Transaction), {"q": term}))

    def test_finds_by_account_number(self, staff, api, late_money):
        api.post("/api/payments", orders.payout(reference="payout-1"))
        payout = Transaction.objects.get(reference="payout-1")
        transfer = Transaction.objects.get(reference="transfer-1")

        for row, number in ((payout, payout.account_number), (transfer, transfer.session.number_id)):
            assert f"/{row.pk}/change/" in words(staff.get(page(Transaction), {"q": number}))
        assert str(late_money.pk) in words(staff.get(page(UnappliedMoney), {"q": transfer.session.number_id}))

    def test_finds_a_delivery_in_any_state_by_its_transaction(self, staff):
        delivery = make_delivery(make_endpoint())

        assert str(delivery.pk) in words(staff.get(page(Delivery), {"q": str(delivery.subject)}))
        assert str(delivery.pk) not in words(staff.get(page(Delivery)))  # which lists dead deliveries
        assert str(delivery.pk) in words(staff.get(page(Delivery), {"state": "waiting"}))

    def test_names_the_states_of_deliveries(self, staff):
        delivery = make_delivery(make_endpoint())

        assert '<div class="readonly"><span class="status status--waiting">Retrying</span></div>' in words(
            staff.get(page(Delivery, "change", delivery.pk))
        )
        assert '<td class="field-state"><span class="status status--waiting">Retrying</span></td>' in words(
            staff.get(page(Delivery), {"state": "waiting"})
        )
        Delivery.objects.filter(pk=delivery.pk).update(state=Delivery.State.DEAD, next_attempt_at=None)
        assert '<td class="field-state"><span class="status status--dead">Stopped</span></td>' in words(
            staff.get(page(Delivery))
        )

    def test_counts_only_rows_that_can_be_paged(self, staff, card):
        with connection.execute_wrapper(self._only_counts_so_far):
            words(staff.get(page(Transaction)))

    def _only_counts_so_far(self, execute, sql, params, many, context):
        if "COUNT(*)" in sql.upper() and "payments_transaction" in sql:
            assert "LIMIT" in sql, sql
            assert str(REACH) in sql or REACH in params
        return execute(sql, params, many, context)


class TestBusinessPage:
    FORM = {
        "name": "Ada Books",
        "descriptor": "ADA",
        "currencies": '["NGN"]',
        "time_zone": "Africa/Lagos",
        "reason": "Asked by its owner.",
    }

    def test_shows_its_related_rows(self, staff, everything, ada):
        text = words(staff.get(page(Business, "change", ada.business_id)))

        for expected in (ada.public_id, "person", "agreed by", "card acquirer"):
            assert expected in text.lower()

    def test_that_is_closed_while_it_is_changed_stays_closed(self, staff, ada, monkeypatch):
        """Two people close it after the row was read."""
        clean = ReasonForm.clean

        def close_first(form):
            Business.objects.filter(pk=ada.business_id).update(is_active=False)
            return clean(form)

        monkeypatch.setattr(ReasonForm, "clean", close_first)
        forms = Forms(staff.get(page(Business, "change", ada.business_id)).content.decode()).found
        sent = next(form["values"] for form in forms if "currencies" in form["names"])

        staff.post(page(Business, "change", ada.business_id), sent | self.FORM)

        stored = Business.objects.get(pk=ada.business_id)
        assert (stored.descriptor, stored.is_active) == ("ADA", False)

    def test_changes_with_a_reason_that_is_audited(self, staff, ada):
        management = {}
        for prefix in re.findall(
            r'name="([^"]+)-TOTAL_FORMS"', words(staff.get(page(Business, "change", ada.business_id)))
        ):
            management |= {f"{prefix}-TOTAL_FORMS": 0, f"{prefix}-INITIAL_FORMS": 0}

        answer = staff.post(page(Business, "change", ada.business_id), self.FORM | management)

        assert answer.status_code == 302
        entry = AuditEntry.objects.get(action="business.changed")
        assert (entry.actor, entry.business_id) == ("staff@example.com", ada.business_id)
        assert entry.before["descriptor"] == ""
        assert entry.after["descriptor"] == "ADA"
        assert entry.after["reason"] == "Asked by its owner."

    def test_needs_a_reason(self, staff, ada):
        answer = staff.post(page(Business, "change", ada.business_id), self.FORM | {"reason": " "})

        assert answer.status_code == 200
        assert Business.objects.get(pk=ada.business_id).descriptor == ""


class TestUserPage:
    def test_rejects_extending_ones_own_rights(self, db):
        person = UserFactory(is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename__in=["view_user", "change_user"]))
        client = signed_in(person, client=Client())

        client.post(page(User, "change", person.pk), {"is_active": "on", "is_superuser": "on", "reason": "x"})

        person.refresh_from_db()
        assert not person.is_superuser

    @pytest.fixture
    def clerk(self, db):
        """A member of staff who may change users, and has every other permission, but is no superuser."""
        person = UserFactory(email="clerk@example.com", is_staff=True)
        person.user_permissions.set(Permission.objects.all())
        return signed_in(person)

    @pytest.mark.parametrize(
        "rights", [{"is_staff": True}, {"is_superuser": True}, {"is_staff": True, "is_superuser": True}]
    )
    def test_of_staff_can_be_changed_by_superusers_only(self, clerk, staff, rights):
        person = UserFactory(email="colleague@example.com", password="a password of theirs", **rights)
        before = User.objects.filter(pk=person.pk).values().get()

        answers = [
            clerk.post(page(User, "change", person.pk), {"reason": "x"}),
            clerk.post(page(User, "delete", person.pk), {"post": "yes"}),
            clerk.post(f"/admin/merchants/user/{person.pk}/password/", {"password1": "x", "password2": "x"}),
            clerk.post(page(User), {"action": "delete_selected", "_selected_action": [person.pk], "post": "yes"}),
        ]  # fmt: skip

        assert answers[0].status_code == 403
        assert answers[1].status_code == 403
        assert User.objects.filter(pk=person.pk).values().get() == before
        assert staff.post(page(User, "change", person.pk), {"reason": "Left us."}).status_code == 302
        person.refresh_from_db()
        assert not person.is_active

    def test_of_others_can_be_closed_by_staff_who_may_change_users(self, clerk):
        person = UserFactory(is_active=True)
        rights = {"is_staff": "on", "is_superuser": "on", "groups": [Group.objects.create(name="All").pk]}

        answer = clerk.post(page(User, "change", person.pk), {"reason": "Asked for it."} | rights)

        person.refresh_from_db()
        assert answer.status_code == 302
        assert (person.is_active, person.is_staff, person.is_superuser) == (False, False, False)
        assert not person.groups.exists()

    @pytest.mark.parametrize(
        "path",
        [
            "change/", "delete/", "password/", "password", "history/", "", "change/?_popup=1", "change/?_to_field=id",
            "change/?_changelist_filters=is_staff__exact%3D1",
        ],
    )  # fmt: skip
    @pytest.mark.parametrize("rights", [{"is_superuser": True}, {"is_staff": True}])
    def test_of_staff_cannot_be_changed_by_a_clerk_at_any_address(self, clerk, path, rights):
        person = UserFactory(email="colleague@example.com", password="a password of theirs", **rights)
        group = Group.objects.create(name="Rights")
        before = User.objects.filter(pk=person.pk).values().get()
        form = {
            "email": "mine@example.com", "name": "Mine", "is_active": "", "is_staff": "on", "is_superuser": "on",
            "groups": [group.pk], "user_permissions": [1], "password": "x", "password1": "x", "password2": "x",
            "usable_password": "true", "reason": "x", "post": "yes", "_save": "Save", "_saveasnew": "1",
        }  # fmt: skip

        clerk.post(f"/admin/merchants/user/{person.pk}/{path}", form)

        assert User.objects.filter(pk=person.pk).values().get() == before
        assert not person.groups.exists()
        assert not person.user_permissions.exists()
        assert User.objects.count() == 2

    @pytest.mark.parametrize("action", ["delete_selected", "replay_chosen", "", "is_superuser"])
    def test_of_staff_cannot_be_changed_by_a_clerk_in_any_list(self, clerk, action):
        person = UserFactory(email="colleague@example.com", is_staff=True, is_superuser=True)
        before = User.objects.filter(pk=person.pk).values().get()
        form = {"action": action, "_selected_action": [person.pk], "post": "yes", "_save": "Save"}
        rows = {
            "form-TOTAL_FORMS": 1,
            "form-INITIAL_FORMS": 1,
            "form-0-id": person.pk,
            "form-0-is_active": "",
        }

        clerk.post(page(User), form)
        clerk.post(page(User), form | rows)

        assert User.objects.filter(pk=person.pk).values().get() == before

    def test_grants_a_clerk_no_rights_through_a_group(self, clerk):
        """With every permission that Django defines, including those to change groups."""
        person = User.objects.get(email="clerk@example.com")
        mine, other = Group.objects.create(name="Mine"), Group.objects.create(name="Other")
        person.groups.add(mine)
        person.user_permissions.set(Permission.objects.filter(content_type__app_label="auth"))
        everything = [each.pk for each in Permission.objects.all()]

        answers = [
            clerk.post(
                page(Group, "change", mine.pk), {"name": "Mine", "permissions": everything, "reason": "x"}
            ),
            clerk.post(page(Group, "add"), {"name": "New", "permissions": everything, "reason": "x"}),
            clerk.post(
                page(User, "change", person.pk), {"is_active": "on", "groups": [other.pk], "reason": "x"}
            ),
            clerk.get(page(Group, "add")),
        ]

        assert {answer.status_code for answer in answers} == {403}
        assert not mine.permissions.exists()
        assert list(person.groups.all()) == [mine]
        assert Group.objects.count() == 2

    def test_has_no_page_for_permissions_second_factors_and_sessions(self, staff):
        for label in ("auth/permission", "mfa/authenticator", "account/emailaddress", "usersessions/usersession",
                      "sessions/session", "merchants/member", "merchants/invitation", "admin/logentry"):  # fmt: skip
            assert staff.get(f"/admin/{label}/").status_code == 404

    def test_of_a_person_who_became_staff_meanwhile_is_unchanged(self, clerk):
        """The check uses the row when the form is posted, not when the page was shown."""
        person = UserFactory(email="new@example.com")
        assert clerk.get(page(User, "change", person.pk)).status_code == 200
        User.objects.filter(pk=person.pk).update(is_staff=True)

        assert clerk.post(page(User, "change", person.pk), {"reason": "x"}).status_code == 403
        assert User.objects.get(pk=person.pk).is_active

    def test_and_groups_can_be_added_by_superusers_only(self, clerk):
        assert clerk.post(page(User, "add"), {"email": "new@example.com"}).status_code == 403
        group = Group.objects.create(name="Rights")
        assert clerk.post(page(Group, "add"), {"name": "Mine", "reason": "x"}).status_code == 403
        assert clerk.post(page(Group, "change", group.pk), {"name": "Mine", "reason": "x"}).status_code == 403


class TestPeopleWhoAreNotStaff:
    def test_are_told_so_and_keep_their_session(self, ada):
        owner = MemberFactory(business=ada.business, user__email="ada@merchant.example").user

        shown = signed_in(owner, client=Client()).get("/admin/", follow=True)

        assert shown.redirect_chain[-1][0] == "/dashboard/"
        assert "for staff, and ada@merchant.example isn&#x27;t staff" in words(shown)
        assert "Sign out</button>" in words(shown)


class TestUnappliedMoney:
    def decide(self, browser, money, what, **form):
        return words(browser.post(page(UnappliedMoney, what, money.pk), form, follow=True))

    def test_is_credited_with_a_reason(self, staff, late_money):
        assert "The money is credited." in self.decide(staff, late_money, "credit", reason="Theirs.")

        late_money.refresh_from_db()
        assert (late_money.state, late_money.reason, late_money.actor) == (
            "credited", "Theirs.", "staff@example.com",
        )  # fmt: skip
        assert "This money was already " in self.decide(staff, late_money, "return", reason="Again.")

    def test_says_why_it_is_open_and_for_which_payment(self, staff, late_money):
        payment = Transaction.objects.get(reference="transfer-1")

        listed = words(staff.get(page(UnappliedMoney)))
        shown = words(staff.get(page(UnappliedMoney, "change", late_money.pk)))

        assert "Already paid" in listed
        assert "The payment had already been paid." in shown
        assert f'href="{page(Transaction, "change", payment.pk)}">transfer-1: ' in shown
        assert "Is accepted" not in shown

    @pytest.mark.parametrize(
        ("what", "entered", "says"),
        [
            ("credit", {}, "The balance of <bdi>"),
            (
                "return",
                {"account_number": "0123456789", "bank_code": "044"},
                "account 0123456789 at Access Bank",
            ),
        ],
    )
    def test_is_reviewed_before_it_is_decided(self, staff, late_money, what, entered, says):
        form = {"reason": "Theirs.", **entered}

        review = self.decide(staff, late_money, what, _review="1", **form)

        late_money.refresh_from_db()
        assert late_money.is_open
        assert says in review
        assert "transfer-1: " in review
        again = dict(re.findall(r'type="hidden" name="(?!csrf)([^"]+)" value="([^"]*)"', review))
        assert again.items() >= form.items()
        self.decide(staff, late_money, what, **again)
        late_money.refresh_from_db()
        assert (late_money.is_open, late_money.reason) == (False, "Theirs.")

    def test_is_not_reviewed_once_decided(self, staff, late_money):
        self.decide(staff, late_money, "credit", reason="Theirs.")

        assert "This money was already " in self.decide(
            staff, late_money, "credit", _review="1", reason="Again."
        )

    def test_is_returned_to_a_named_account(self, staff, late_money):
        said = self.decide(
            staff, late_money, "return", reason="Not theirs.", account_number="0123456789", bank_code="044"
        )

        assert "The money is returned." in said
        payout = Transaction.objects.get(request_type="payout")
        assert (payout.account_number, payout.amount) == ("0123456789", late_money.amount)

    @pytest.mark.parametrize(
        ("what", "form"),
        [
            ("credit", {}),
            ("credit", {"reason": "x" * 256}),
            ("return", {"account_number": "0123456789", "bank_code": "044"}),
            ("return", {"reason": "Not theirs.", "account_number": "12"}),
            ("return", {"reason": "Not theirs.", "account_number": "0123456789", "bank_code": "none"}),
        ],
    )
    def test_stays_open_without_required_fields(self, staff, late_money, what, form):
        assert "Nothing was decided" in self.decide(staff, late_money, what, **form)
        late_money.refresh_from_db()
        assert late_money.is_open

    def test_can_be_decided_by_staff_with_the_permission_only(self, view_only, late_money):
        assert "Review credit" not in words(view_only.get(page(UnappliedMoney, "change", late_money.pk)))
        for what in ("credit", "return"):
            answer = view_only.post(page(UnappliedMoney, what, late_money.pk), {"reason": "x"})
            assert answer.status_code == 403


class TestDeliveries:
    @pytest.fixture
    def dead(self, db):
        return make_delivery(make_endpoint(), state=Delivery.State.DEAD)

    def test_are_replayed_with_a_reason(self, staff, dead):
        said = words(
            staff.post(page(Delivery, "replay", dead.pk), {"reason": "Their server is back."}, follow=True)
        )

        assert "Queued 1 delivery to resend." in said
        entry = AuditEntry.objects.get(action="webhook.replayed")
        assert (entry.actor, entry.target) == ("staff@example.com", str(dead.pk))
        assert entry.after == {"reason": "Their server is back."}

    def test_are_replayed_from_the_list(self, staff, dead):
        form = {
            "action": "replay_chosen",
            "_selected_action": [str(dead.pk)],
            "reason": "Their server is back.",
        }

        assert "Queued 1 delivery to resend." in words(staff.post(page(Delivery), form, follow=True))
        dead.refresh_from_db()
        assert dead.state == Delivery.State.WAITING

    @pytest.mark.parametrize("reason", ["", "x" * 256])
    def test_are_not_replayed_without_a_reason(self, staff, dead, reason):
        form = {"action": "replay_chosen", "_selected_action": [str(dead.pk)], "reason": reason}

        for address, sent in (
            (page(Delivery), form),
            (page(Delivery, "replay", dead.pk), {"reason": reason}),
        ):
            assert "Nothing was resent" in words(staff.post(address, sent, follow=True))
        dead.refresh_from_db()
        assert dead.state == Delivery.State.DEAD

    def test_without_a_body_cannot_be_replayed(self, staff, dead):
        Delivery.objects.filter(pk=dead.pk).update(body="")

        assert "retention period" in words(staff.get(page(Delivery, "change", dead.pk)))
        said = words(staff.post(page(Delivery, "replay", dead.pk), {"reason": "Try."}, follow=True))
        assert "1 delivery not resent" in said

    def test_can_be_replayed_by_staff_with_the_permission_only(self, view_only, dead):
        assert view_only.post(page(Delivery, "replay", dead.pk), {"reason": "x"}).status_code == 403


class TestSummary:
    def figures(self, **later):
        return {figure.label: figure for figure in attention.figures(now=timezone.now() + timedelta(**later))}

    def test_shows_queues_and_what_needs_attention(self, everything):
        waiting = make_delivery(Endpoint.objects.get(), at=timezone.now())

        figures = self.figures(minutes=11)

        assert figures["Deliveries due"].value == str(Delivery.objects.filter(state="waiting").count())
        assert figures["Deliveries due"].needs_attention
        assert waiting.state == "waiting"
        assert figures["Deliveries stopped within 24 hours"].value == "0"  # created long ago, at NOON
        assert figures["Batches awaiting approval"].value == str(
            SettlementBatch.objects.filter(state="pending").count()
        )
        assert figures["Unapplied transfers to decide about"].value == "1"
        assert figures["Ledger"].value == "sums to zero, as of now"
        assert figures["Last heartbeat of a worker"].needs_attention

    def test_counts_open_unmatched_payout_returns(self):
        now = timezone.now()
        resolved = {"resolution": "Sent back", "resolved_by": "staff@example.com", "resolved_at": now}
        for number, decision in enumerate(({}, {}, resolved)):
            PayoutReturn.objects.create(
                pk=uuid.uuid4(),
                bank_reference=f"return-{number}",
                payout_reference="unknown",
                amount=5,
                currency="NGN",
                applied="unmatched",
                why="unknown_payout",
                actor="bank",
                at=now - timedelta(days=8),
                **decision,
            )

        figure = self.figures()["Unmatched payout returns to decide about"]

        assert (figure.value, figure.needs_attention) == ("2", True)

    def test_counts_the_deliveries_that_failed_for_good_today(self, ada):
        now = timezone.now()
        endpoint = make_endpoint(business=ada.business)
        for hours in (23, 25):
            dead = make_delivery(endpoint, state=Delivery.State.DEAD, at=now - timedelta(hours=40))
            Attempt.objects.create(
                delivery=dead, number=8, started_at=now - timedelta(hours=hours), total_ms=1
            )

        assert self.figures()["Deliveries stopped within 24 hours"].value == "1"

    def test_redirects_password_changes_to_the_dashboard(self, staff):
        for answer in (staff.get("/admin/password_change/"), staff.post("/admin/password_change/")):
            assert (answer.status_code, answer["Location"]) == (302, "/dashboard/account/password/")

    def test_counts_operations_without_an_answer_and_refused_voids(self, ada, settings):
        payment = authorised_payment(business=ada.business, now=timezone.now())
        expire_now(payment.pk, now=timezone.now())

        figures = self.figures(minutes=11)
        settings.CARD_ACQUIRER = "tests.rails.RefusingAcquirer"
        list(requery.requery(requery.unanswered()))
        figures_after = self.figures(minutes=11)

        unanswered, refused = (
            "Captures, voids and refunds without a response for 10 minutes",
            "Voids refused within 7 days",
        )
        assert (figures[unanswered].value, figures[refused].value) == ("1", "0")
        assert (figures_after[unanswered].value, figures_after[refused].value) == ("0", "1")
        assert figures_after[refused].needs_attention
        assert self.figures(days=8)[refused].value == "0"

    def test_counts_failed_payments_that_were_charged(self, ada):
        now = timezone.now()
        watch = late_charge(ada.business, now=now)
        label = "Late and second charges found within 7 days, or not paid back yet"

        owed = self.figures(days=8)[label]
        watch.end(now=now, is_returned=True)

        assert (owed.value, owed.needs_attention) == ("1", True)
        assert self.figures(days=6)[label].value == "1"
        assert self.figures(days=8)[label].value == "0"

    def test_counts_payouts_that_the_bank_may_have_deleted(self, api, staff, settings):
        settings.PAYOUT_BANK = "tests.rails.SilentBank"
        payout = api.post("/api/payments", orders.payout()).json()
        label = "Unanswered payouts for staff to resolve"

        assert self.figures(hours=23)[label].value == "0"
        assert self.figures(hours=25)[label].value == "1"
        settings.BANK_MEMORY = 0
        assert payout["reference"] in words(staff.get(self.figures()[label].address))

    def test_says_since_when_and_how_much_money_waits(self):
        now = timezone.now()
        for number, (hours, amount, currency) in enumerate(
            [(3, 500, "NGN"), (50, 700, "NGN"), (1, 900, "USD")]
        ):
            PayoutReturn.objects.create(
                pk=uuid.uuid4(),
                bank_reference=f"return-{number}",
                amount=amount,
                currency=currency,
                applied="unmatched",
                why="unknown_payout",
                actor="bank",
                at=now - timedelta(hours=hours),
            )

        why = self.figures()["Unmatched payout returns to decide about"].why

        assert "The oldest has waited for 2 days, since " in why
        assert why.endswith(" UTC. NGN 12.00. USD 9.00.")

    def test_begins_with_what_needs_a_person_and_folds_the_rest(self, staff, everything):
        text = words(staff.get("/admin/"))

        first, _, folded = text.partition("Nothing to do")
        assert "Needs attention" in first
        assert "Unapplied transfers to decide about" in first
        assert "Unapplied transfers to decide about" not in folded
        assert "Refunds that need attention" not in first
        assert "Refunds that need attention" in folded

    def test_is_the_index_page(self, staff):
        text = words(staff.get("/admin/"))

        for label in self.figures():
            assert label in text


def test_rows_of_other_models_are_not_forgotten():
    """Models without their own page are inlines of another model, or not shown."""
    assert {Posting, Account, Session, Transfer, AccountNumber, SettlementItem, CardOperation} <= set(
        admin.site._registry
    )
    assert not {Transition, BatchTransition, Attempt} & set(admin.site._registry)
