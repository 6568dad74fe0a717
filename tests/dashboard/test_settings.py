"""The settings: owners change them, each change is audited, and the database keeps them valid."""

import pytest
from django.db import IntegrityError, transaction

from merchants.models import AuditEntry, Business
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db

SETTINGS = "/dashboard/settings/"
FIELDS = {
    "zone": "time_zone",
    "colour": "accent_color",
    "keys": "keys_decide_unapplied",
    "minimum": "minimum_amounts",
}


def save(browser, group, **fields):
    return browser.post(SETTINGS, {"group": group, **fields}, follow=True)


@pytest.mark.parametrize(
    ("group", "value", "stored"),
    [
        ("zone", "Europe/London", "Europe/London"),
        ("colour", "#0B6E69", "#0b6e69"),
        ("keys", "on", True),
        ("minimum", "2,500; usd 1.00", {"NGN": 250_000, "USD": 100}),
        ("minimum", "1.00 USD; ₦2,500", {"NGN": 250_000, "USD": 100}),
    ],
)
def test_owner_changes_each_setting(browser, ada, group, value, stored):
    name = FIELDS[group]
    before = getattr(ada.business, name)

    shown = save(browser, group, **{name: value}).content.decode()

    assert "Settings saved." in shown
    assert getattr(Business.objects.get(pk=ada.business_id), name) == stored
    entry = AuditEntry.objects.get(action="business.settings_changed")
    assert (entry.actor, entry.business_id) == ("ada@example.com", ada.business_id)
    assert (entry.before, entry.after) == ({name: before}, {name: stored})


def test_unchanged_setting_has_no_audit_entry(browser):
    save(browser, "zone", time_zone="Africa/Lagos")

    assert not AuditEntry.objects.filter(action="business.settings_changed").exists()


def test_group_leaves_the_other_settings_alone(browser, ada):
    save(browser, "keys", keys_decide_unapplied="on")
    save(browser, "colour", accent_color="#333333")

    stored = Business.objects.get(pk=ada.business_id)
    assert (stored.keys_decide_unapplied, stored.accent_color) == (True, "#333333")


@pytest.mark.parametrize(
    ("group", "value", "error"),
    [
        ("zone", "Asia/Kolkata", "Choose a time zone from the list."),  # UTC+5:30
        ("zone", "Mars/Olympus", "Choose a time zone from the list."),
        ("colour", "teal", "Enter # and six hexadecimal digits"),
        ("minimum", "EUR 5", "The business is not enabled for EUR."),
        ("minimum", "NGN 1; 2", "Enter one amount for NGN."),
        ("minimum", "NGN 1.005", "Enter at most 2 decimals for NGN."),
        ("colour", "#ffe000", "White text on this colour is hard to read."),
    ],
)
def test_invalid_value_is_refused_at_its_field(browser, ada, group, value, error):
    shown = save(browser, group, **{FIELDS[group]: value}).content.decode()

    assert error in shown
    assert 'aria-invalid="true"' in shown
    assert Business.objects.get(pk=ada.business_id).time_zone == "Africa/Lagos"


@pytest.mark.parametrize("role", ["developer", "finance", "viewer"])
def test_other_members_only_view_them(ada, role):
    member = signed_in(MemberFactory(business=ada.business, role=role).user)

    assert "disabled" in member.get(SETTINGS).content.decode()
    assert save(member, "keys", keys_decide_unapplied="on").status_code == 403
    assert not Business.objects.get(pk=ada.business_id).keys_decide_unapplied


@pytest.mark.parametrize("change", [{"time_zone": ""}, {"time_zone": "a b"}, {"accent_color": "red"}])
def test_database_refuses_malformed_values(ada, change):
    with pytest.raises(IntegrityError), transaction.atomic():
        Business.objects.filter(pk=ada.business_id).update(**change)
