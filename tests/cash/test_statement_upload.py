"""Statements uploaded in the administration: previewed, then imported."""

import hashlib
import re
import zlib
from base64 import b64encode

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from cash.models import BankAccount, Statement
from tests.bank_statements import bank_account, csv_statement
from tests.dashboard.people import signed_in
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

PAGE = "/admin/cash/statement/upload/"
CONTENT = csv_statement(*[("2026-01-05", number, f"GTB{number}") for number in range(1, 13)])


@pytest.fixture
def staff(db):
    return signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())


@pytest.fixture
def upload(staff):
    """Return a function that sends a file, and returns the page."""
    account = bank_account()

    def send(content=CONTENT, **more):
        file = SimpleUploadedFile("january.csv", content.encode())
        return staff.post(PAGE, {"account": account.pk, "file": file} | more).content.decode()

    return send


def digest(content=CONTENT):
    return hashlib.sha256(content.encode()).hexdigest()


def test_preview_shows_ten_lines_and_stores_nothing(upload):
    shown = upload()

    assert all(f"GTB{number}<" in shown for number in range(1, 11))
    assert "GTB11<" not in shown
    assert digest() in shown
    assert not Statement.objects.exists()


def test_previewed_file_is_imported_once(upload):
    assert "Imported. " in upload(previewed=digest())
    assert "Imported before. " in upload(previewed=digest())

    assert Statement.objects.get().lines_count == 12


def test_previewed_file_is_not_chosen_again(upload, staff):
    shown = upload()
    carried = {name: value_of(shown, name) for name in ("previewed", "name", "content")}

    imported = staff.post(PAGE, {"account": BankAccount.objects.get().pk} | carried).content.decode()

    assert 'type="file"' not in shown
    assert "Imported. " in imported
    assert Statement.objects.get().file_name == "january.csv"


@pytest.mark.parametrize("content", ["nonsense", b64encode(zlib.compress(bytes(2_000_000))).decode()])
def test_spoiled_content_is_refused(upload, staff, content):
    account = BankAccount.objects.get().pk
    form = {"account": account, "previewed": digest(), "name": "january.csv", "content": content}

    shown = staff.post(PAGE, form).content.decode()

    assert "Choose a file" in shown
    assert not Statement.objects.exists()


def value_of(page, name):
    return re.search(f'name="{name}" value="([^"]*)"', page)[1]


def test_another_file_than_the_previewed_is_refused(upload):
    shown = upload(previewed=digest("other"))

    assert "isn&#x27;t the file that was previewed" in shown
    assert not Statement.objects.exists()


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"content": "nonsense"}, "No heading names the columns"),
        ({"opening": "one"}, "is not an amount"),
        ({"content": CONTENT.replace("1000.78", "1000.79")}, "the balance is not the one before"),
    ],
)
def test_refusals_are_shown(upload, more, why):
    assert why in upload(**more)
    assert not Statement.objects.exists()


def test_needs_the_right(db):
    other = signed_in(UserFactory(is_staff=True), client=Client())

    assert other.get(PAGE).status_code == 403
