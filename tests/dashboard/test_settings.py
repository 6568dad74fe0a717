"""The settings: owners change them, each change is audited, and the database keeps them valid."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction

from dashboard.settings.forms import SWATCHES
from kit.colours import is_ground
from merchants.models import AuditEntry, Business, Logo
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory

pytestmark = pytest.mark.django_db

SETTINGS = "/dashboard/settings/"
PAGES = {"minimum": f"{SETTINGS}payments/", "three_ds": f"{SETTINGS}payments/"}
FIELDS = {
    "zone": "time_zone",
    "support": "support_email",
    "keys": "keys_decide_unapplied",
    "webhook_keys": "keys_change_webhooks",
    "minimum": "minimum_amounts",
    "three_ds": "provider_may_decide_three_ds",
}


PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR" + (64).to_bytes(4) + (64).to_bytes(4) + b"\x08\x06\x00\x00\x00"
WIDE_PNG = PNG.replace((64).to_bytes(4), (9_000).to_bytes(4), 1)
SVG = b'<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>'


def look(browser, **fields):
    return save(browser, "look", name="Ada Books", **fields)


def upload(browser, content, **fields):
    return look(browser, new_logo=SimpleUploadedFile("logo.png", content, "image/png"), **fields)


def save(browser, group, **fields):
    return browser.post(PAGES.get(group, SETTINGS), {"group": group, **fields}, follow=True)


@pytest.mark.parametrize(
    ("group", "value", "stored"),
    [
        ("zone", "Europe/London", "Europe/London"),
        ("support", " help@ada.example ", "help@ada.example"),
        ("keys", "on", True),
        ("webhook_keys", "", False),
        ("three_ds", "on", True),
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
    assert (entry.before[name], entry.after[name]) == (before, stored)


def test_unchanged_setting_has_no_audit_entry(browser):
    save(browser, "zone", time_zone="Africa/Lagos")

    assert not AuditEntry.objects.filter(action="business.settings_changed").exists()


def test_group_leaves_the_other_settings_alone(browser, ada):
    save(browser, "keys", keys_decide_unapplied="on")
    look(browser, accent_color="#333333")

    stored = Business.objects.get(pk=ada.business_id)
    assert (stored.keys_decide_unapplied, stored.accent_color) == (True, "#333333")


@pytest.mark.parametrize(
    ("group", "value", "error"),
    [
        ("zone", "Asia/Kolkata", "Choose a time zone from the list."),  # UTC+5:30
        ("zone", "Mars/Olympus", "Choose a time zone from the list."),
        ("support", "ada", "Enter a valid email address."),
        ("support", "4084084084084081@ada.example", "This field may not hold a card number."),
        ("minimum", "EUR 5", "The business is not enabled for EUR."),
        ("minimum", "NGN 1; 2", "Enter one amount for NGN."),
        ("minimum", "NGN 1.005", "Enter at most 2 decimals for NGN."),
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


class TestLook:
    def test_owner_changes_the_name(self, browser, ada):
        save(browser, "look", name="Adire Studio")

        assert Business.objects.get(pk=ada.business_id).name == "Adire Studio"
        assert AuditEntry.objects.get(action="business.settings_changed").after["name"] == "Adire Studio"

    @pytest.mark.parametrize("name", ["", "Ada\u202e Books"])
    def test_name_that_payers_could_not_read_is_refused(self, browser, ada, name):
        shown = save(browser, "look", name=name).content.decode()

        assert 'aria-invalid="true"' in shown
        assert Business.objects.get(pk=ada.business_id).name == ada.business.name

    @pytest.mark.parametrize(
        ("entered", "stored"),
        [
            ({"swatch": "#34348f", "accent_color": "#112233"}, "#34348f"),
            ({"swatch": "#34348f", "accent_color": "#0B0B0B"}, "#0b0b0b"),
            ({"accent_color": "#112233"}, "#112233"),
            ({"swatch": "#34348f", "accent_color": ""}, ""),
        ],
    )
    def test_typed_colour_replaces_the_swatch(self, browser, ada, entered, stored):
        Business.objects.filter(pk=ada.business_id).update(accent_color="#112233")

        look(browser, **entered)

        assert Business.objects.get(pk=ada.business_id).accent_color == stored

    @pytest.mark.parametrize(
        ("colour", "error"),
        [
            ("teal", "Enter # and six hexadecimal digits"),
            ("#ffe000", "White text on this colour is hard to read."),
        ],
    )
    def test_colour_that_hides_the_text_is_refused(self, browser, colour, error):
        assert error in look(browser, accent_color=colour).content.decode()

    def test_white_text_is_readable_on_every_swatch(self):
        assert [name for value, name in SWATCHES if not is_ground(value)] == []


class TestLogo:
    def test_is_served_with_the_type_of_its_content(self, browser, ada):
        upload(browser, PNG)

        logo = Business.objects.get(pk=ada.business_id).logo
        answer = browser.get(f"/checkout/logo/{logo.pk}")
        assert (answer.content, answer.headers["Content-Type"]) == (PNG, "image/png")
        assert answer.headers["X-Content-Type-Options"] == "nosniff"

    @pytest.mark.parametrize(
        ("content", "error"),
        [
            (SVG, "Choose a PNG or JPEG file."),
            (PNG[:20], "Choose a PNG or JPEG file."),
            (b"\xff\xd8\xff\xe0\x00\x00" * 9, "Choose a PNG or JPEG file."),
            (WIDE_PNG, "Choose an image of at most 1,024 by 1,024 pixels."),
            (PNG + bytes(100 * 1024), "Choose a file of at most 100 KB."),
        ],
        ids=["SVG", "cut PNG", "empty JPEG", "wide", "large"],
    )
    def test_other_files_are_refused_by_their_content(self, browser, content, error):
        assert error in upload(browser, content).content.decode()
        assert not Logo.objects.exists()

    def test_new_one_replaces_the_former_one(self, browser, ada):
        upload(browser, PNG)
        former = Logo.objects.get().pk

        upload(browser, PNG + b"2")

        assert Business.objects.get(pk=ada.business_id).logo_id == Logo.objects.get().pk != former
        assert browser.get(f"/checkout/logo/{former}").status_code == 404
        entry = AuditEntry.objects.filter(action="business.settings_changed").latest("pk")
        assert entry.before["logo"].startswith("SHA-256 ")
        assert entry.before != entry.after

    def test_is_removed(self, browser, ada):
        upload(browser, PNG)

        look(browser, removes_logo="on")

        assert Business.objects.get(pk=ada.business_id).logo_id is None
        assert not Logo.objects.exists()

    def test_stays_when_something_else_is_changed(self, browser):
        upload(browser, PNG)

        look(browser, accent_color="#333333")

        assert Logo.objects.exists()


@pytest.mark.parametrize(
    ("field", "value", "error"),
    [
        ("support_phone", "call me", "Enter a phone number with 7 to 15 digits"),
        ("support_url", "http://ada.example", "Enter an https address"),
        ("support_url", "javascript:alert(1)", "Enter an https address"),
    ],
)
def test_support_contact_that_payers_could_not_use_is_refused(browser, field, value, error):
    assert error in save(browser, "support", **{field: value}).content.decode()
