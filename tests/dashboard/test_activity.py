"""The activity page: descriptions of audit entries, filters in the URL, and the export."""

import ast
import re
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.activity.descriptions import DESCRIPTIONS
from merchants.models import User
from merchants.people import audit
from merchants.people.audit import Actor
from tests.batches import checked_batch
from tests.dashboard.people import signed_in
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed
from tests.factories import MemberFactory, UserFactory
from tests.links import link_of
from tests.packages import modules
from tests.settling import settle
from tests.transactions import captured_payment

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

ACTIVITY = "/dashboard/activity/"
NASTY = "=HYPERLINK(1)</li><script>alert('x')</script>\u202e"


def record_entry(business, action="webhook.key_rotated", actor="ada@example.com", **details):
    return audit.record(
        action=action,
        actor=Actor(name=actor, address="192.0.2.9"),
        business=business,
        now=details.pop("now", timezone.now()),
        **details,
    )


def page(client, query=""):
    return client.get(ACTIVITY + query).content.decode()


def lines(client, query=""):
    answer = client.get(f"{ACTIVITY}export.csv{query}")
    return b"".join(answer.streaming_content).decode("utf-8-sig").splitlines()


class TestPage:
    def test_shows_user_action_and_address(self, browser, ada):
        record_entry(ada.business)

        shown = page(browser)

        assert '<bdi title="ada@example.com">ada@example.com</bdi>' in shown
        assert "Rotated the webhook signing key" in shown
        assert "192.0.2.9" in shown
        assert Audit(shown).findings == []

    def test_folds_equal_entries_in_a_row(self, browser, ada):
        for action in ("session.signed_in", "webhook.key_rotated", *["session.signed_in"] * 4):
            record_entry(ada.business, action)

        shown = page(browser)

        rows = re.findall(r"<tr>.*?</tr>", shown.partition("<tbody>")[2], re.DOTALL)
        assert ["Signed in" in row for row in rows] == [True, False, True]
        assert "<summary>4 times</summary>" in rows[0]
        assert rows[0].count("<li>") == 4
        assert "times</summary>" not in rows[1] + rows[2]

    def test_shows_before_and_after(self, browser, ada):
        record_entry(
            ada.business,
            "member.role_changed",
            target="chidi@example.com",
            before={"role": "viewer"},
            after={"role": "finance"},
        )

        shown = page(browser)

        assert "Changed the role of chidi@example.com" in shown
        assert "<s><bdi>viewer</bdi></s>" in shown
        assert "<bdi>finance</bdi>" in shown

    def test_leads_to_the_payment(self, browser, ada, bisi, now):
        payment = captured_payment(business=ada.business, now=now, reference="ref-1")
        captured_payment(business=bisi.business, now=now, reference="ref-2")
        for reference in ("ref-1", "ref-2", "deleted"):
            record_entry(ada.business, "payment.refund_asked", target=reference)

        shown = page(browser)

        link = f'href="/dashboard/payments/{payment.pk}/">Requested a refund of the payment ref-1</a>'
        assert link in shown
        assert shown.count('class="table__link"') == 1

    def test_leads_to_links_settlements_and_pages(self, browser, ada, now):
        link = link_of(ada.business, now=now)
        captured_payment(business=ada.business, now=now)
        (batch,) = settle()
        record_entry(ada.business, "payment_link.changed", target=link.reference)
        record_entry(ada.business, "settlement_batch.approved", target=str(batch.pk))
        record_entry(ada.business, "settlement_batch.approved", target="no id")
        record_entry(ada.business, "member.role_changed", target="chidi@example.com")

        shown = page(browser)

        for address in (f"payment-links/{link.pk}", f"settlements/{batch.pk}", "team"):
            assert f'class="table__link" href="/dashboard/{address}/"' in shown

    def test_leads_to_disputes_batches_and_settings(self, browser, ada, now):
        dispute = disputed(captured_payment(business=ada.business, now=now))
        batch = checked_batch(ada.business)
        record_entry(ada.business, "dispute.submitted", target=str(dispute.pk))
        record_entry(ada.business, "payout_batch.approved", target=batch.reference)
        record_entry(ada.business, "payout_controls.changed")
        record_entry(ada.business, "settlement_account.changed", target="NGN")

        shown = page(browser)

        for address in (
            f"disputes/{dispute.pk}",
            f"payouts/batches/{batch.pk}",
            "settings/payouts",
            "settings/settlement-account",
        ):
            assert f'class="table__link" href="/dashboard/{address}/"' in shown

    def test_shows_no_identifiers_and_minor_units_of_decisions(self, browser, ada):
        made_about = {"state": "approved", "gross": 50_000}
        after = {"action": "release_batch", "target": "01a2", "amount": 49_500, "currency": "NGN"}
        after |= {"parameters": {}, "made_about": made_about, "reason": "Today's release", "evidence": ""}
        record_entry(ada.business, "proposal.opened", target="01a3", after=after)
        record_entry(ada.business, "dispute.accepted", target="01a4", after={"accept": {"amount": 50_000}})
        record_entry(ada.business, "sandbox.advanced", target="ref-1", after={"advanced": "dispute"})

        shown = page(browser)

        assert "Proposed to a second operator: release a settlement batch" in shown
        assert "NGN 495.00" in shown
        assert "Accepted a dispute" in shown
        for hidden in ("50000", "release_batch", "01a2", "Made about", "Advanced: "):
            assert hidden not in shown

    def test_names_the_new_webhook_url(self, browser, ada):
        record_entry(ada.business, "webhook.configured", after={"url": "https://shop.example/hooks"})

        assert "<li>URL: <bdi>https://shop.example/hooks</bdi></li>" in page(browser)

    @pytest.mark.parametrize(
        ("action", "text"),
        [
            ("capture", "Requested the capture of the payment ref-1"),
            ("void", "Requested the void of the payment ref-1"),
            ("cancel", "Requested the cancellation of the payment ref-1"),
            ("refund", "Requested a refund of the payment ref-1"),
        ],
    )
    def test_describes_requests_about_payments(self, browser, ada, action, text):
        record_entry(ada.business, f"payment.{action}_asked", target="ref-1")

        assert text in page(browser)

    def test_shows_last_month_only(self, browser, ada):
        record_entry(ada.business, now=timezone.now() - timedelta(days=62))
        last_of_month = timezone.now() - timedelta(days=timezone.localdate(timezone=ada.business.zone).day)
        record_entry(ada.business, "session.signed_out", now=last_of_month)
        record_entry(ada.business, "session.signed_in")

        shown = page(browser, "?period=last-month")

        assert shown.count('class="activity__what') == 1
        assert "Signed out" in shown

    def test_formats_amounts(self, browser, ada):
        record_entry(ada.business, "wallet.topped_up", after={"amount": 250_050, "currency": "NGN"})

        assert "NGN 2,500.50" in page(browser)

    def test_formats_amounts_by_currency(self, browser, ada):
        limits = {"per_day": {"NGN": 50_000_000, "USD": 1_000}, "number_per_day": 7}
        record_entry(ada.business, "payout_controls.changed", before={"per_day": {}}, after=limits)
        terms = {"currency": "NGN", "negative_limit": 250_000, "reserve_days": 30}
        record_entry(ada.business, "risk_terms.agreed", target="NGN", after=terms)

        shown = page(browser)
        exported = b"".join(browser.get("/dashboard/activity/export.csv").streaming_content).decode()

        for text in (shown, exported):
            assert "NGN 500,000.00, USD 10.00" in text
            assert "NGN 2,500.00" in text
            assert "50000000" not in text
            assert "250000" not in text

    def test_shows_nothing_of_other_businesses(self, other_browser, ada):
        record_entry(ada.business)

        assert "No activity yet" in page(other_browser)
        assert len(lines(other_browser)) == 1

    @pytest.mark.parametrize(
        ("query", "count"),
        [
            ("", 3),
            ("?who=ada@example.com", 2),
            ("?who=left@example.com", 1),
            ("?who=ada@example.com%00", 0),
            ("?kind=webhook", 1),
            ("?since=2999-01-01", 0),
            ("?until=2000-01-01", 0),
            ("?kind=nonsense", 0),
            ("?since=yesterday", 0),
            ("?until=9999-12-31", 0),
            ("?before=abc", 3),
            ("?before=99999999999999999999", 3),
        ],
    )
    def test_is_filtered_by_its_query(self, browser, ada, query, count):
        record_entry(ada.business)
        record_entry(ada.business, "session.signed_in")
        record_entry(ada.business, "member.invited", actor="left@example.com", target="chidi@example.com")

        assert page(browser, query).count('class="activity__what') == count

    def test_is_paginated(self, browser, ada):
        for number in range(30):
            record_entry(ada.business, "member.invited", target=f"person{number}@example.com")

        first = browser.get(ACTIVITY)
        second = page(browser, first.context["page"].older)

        assert first.content.decode().count('class="activity__what') == 25
        assert second.count('class="activity__what') == 5

    def test_escapes_text(self, browser, ada):
        record_entry(ada.business, "api_key.created", target=NASTY, after={"name": NASTY}, actor=NASTY[:50])

        assert "<script>" not in page(browser)
        assert Audit(page(browser)).findings == []
        assert not any(cell.startswith(("=", '"=')) for line in lines(browser) for cell in line.split(","))


class TestExport:
    def test_has_the_filtered_rows(self, browser, ada):
        record_entry(ada.business)
        record_entry(ada.business, "session.signed_in")

        head, *rows = lines(browser, "?kind=webhook")

        assert head.startswith("at,who,role,what,action,target,from")
        assert len(rows) == 1
        assert "rotated the webhook signing key" in rows[0]


class TestAttribution:
    ACTORS = {
        "ada@example.com": "Owner",
        "vera@example.com": "Viewer",
        "staff@example.com": "Operator",
        "left@example.com": "Not a member",
        "pk_sandbox_1": "API key",
        "settle": "System",
    }  # fmt: skip

    @pytest.fixture(autouse=True)
    def actions(self, ada, ada_member):
        """One action of each actor. All users have named themselves after the owner's email address."""
        MemberFactory(business=ada.business, role="viewer", user__email="vera@example.com")
        UserFactory(email="staff@example.com", is_staff=True)
        UserFactory(email="left@example.com")
        User.objects.update(name="ada@example.com (Owner)")
        for actor in self.ACTORS:
            record_entry(ada.business, actor=actor)

    def test_is_by_address_and_role(self, browser):
        shown = page(browser)

        for actor, role in self.ACTORS.items():
            expected = f'<bdi title="{actor}">{actor}</bdi><span class="table__sub">{role}</span>'
            assert shown.count(expected) == 1

    def test_is_the_same_in_the_filter(self, browser):
        assert '<option value="vera@example.com">vera@example.com (Viewer)</option>' in page(browser)

    def test_is_the_same_in_the_export(self, browser):
        shown = dict(line.split(",")[1:3] for line in lines(browser)[1:])

        assert shown == self.ACTORS

    def test_is_the_same_in_the_administration(self, db):
        staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())

        shown = staff.get("/admin/merchants/auditentry/").content.decode()

        for actor, role in self.ACTORS.items():
            assert re.search(rf"{re.escape(actor)}</td><td class=\"field-role\">{role}</td>", shown), actor

    def test_number_of_queries_does_not_depend_on_number_of_entries(
        self, browser, ada, django_assert_max_num_queries
    ):
        for number in range(20):
            record_entry(ada.business, actor=f"person{number}@example.com")

        with django_assert_max_num_queries(10):
            page(browser)


class TestDescriptions:
    def test_exist_for_every_audited_action(self):
        audited = set()
        for path in modules():
            audited |= actions_in(ast.parse(path.read_text()))

        assert audited - set(DESCRIPTIONS) == set()
        assert {f"dispute.{kind}" for kind in ("submitted", "closed", "accepted")} <= set(DESCRIPTIONS)
        assert "member.invited" in audited


def actions_in(tree):
    """Return the actions that a module audits: `action="a.b"`, or one of the first two values of `record` and `_record`."""
    found = set()
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        given = [each.value for each in node.keywords if each.arg == "action"]
        if getattr(node.func, "attr", getattr(node.func, "id", "")) in ("record", "_record"):
            given += node.args[:2]
        found |= {
            each.value
            for every in given
            for each in ast.walk(every)
            if isinstance(each, ast.Constant)
            and isinstance(each.value, str)
            and re.fullmatch(r"[a-z_]+\.[a-z_]+", each.value)
        }
    return found
