import io
import json
import sys

import pytest
from django.core.management import CommandError, call_command, get_commands, load_command_class
from freezegun import freeze_time

from tests.bank_statements import bank_account
from tests.packages import PACKAGES

WITHOUT_JSON = {
    "acquirer_simulator": "runs until it is stopped",
    "bank_simulator": "runs until it is stopped",
    "checkout_simulator": "runs until it is stopped",
    "paystack_simulator": "runs until it is stopped",
    "sandbox": "runs until it is stopped",
    "address_guide": "prints a guide",
    "check_project": "one of our checks",
    "field_tables": "writes guides",
    "migrate": "Django's command",
    "support_bundle": "writes an archive",
}


@pytest.fixture(scope="module")
def commands():
    return {name: load_command_class(app, name) for name, app in get_commands().items() if app in PACKAGES}


def test_every_command_with_a_result_prints_it_as_json(commands):
    options = {name: command.create_parser("manage.py", name) for name, command in commands.items()}

    without = {name for name, parser in options.items() if "--json" not in parser.format_help()}

    assert without == set(WITHOUT_JSON)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "document"),
    [
        (
            ["expire_due"],
            {"dry_run": False, "expired": 0, "released": 0, "disputes": 0, "reminders": 0, "reserves": 0},
        ),
        (
            ["expire_due", "--dry-run"],
            {"dry_run": True, "expired": 0, "released": 0, "disputes": 0, "reminders": 0, "reserves": 0},
        ),
        (["requery_pending", "--due"], {"dry_run": False, "queried": 0, "answered": 0}),
        (["requery_pending", "--dry-run"], {"dry_run": True, "queried": 0, "answered": 0}),
        (["roll_up_days"], {"days": 90}),
        (["replay_webhooks", "--business", "Ada Books"], {"dry_run": False, "deliveries": 0}),
        (["rewrite_secrets", "--dry-run"], None),
    ],
)
def test_prints_one_document(ada, command, document):
    printed = io.StringIO()

    with freeze_time("2026-03-10 12:00"):  # in the first hour of a day, one day fewer is rolled up
        call_command(*command, "--json", stdout=printed, stderr=io.StringIO())

    shown = json.loads(printed.getvalue())
    assert document is None or shown == document


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("command", "result"), [("list_businesses", "Ada Books"), ("migrate", "No migrations to apply.")]
)
def test_warnings_of_the_settings_follow_the_result_in_one_line(ada, settings, capfd, command, result):
    settings.PAYOUT_BANK = ""

    call_command(command, skip_checks=False)
    sys.stdout.flush()

    shown = capfd.readouterr()
    assert result in shown.out
    assert shown.err == "Warnings: sluice.PAYOUT_BANK. manage.py doctor explains them.\n"


@pytest.mark.django_db
def test_day_at_an_end_of_the_calendar_is_refused(subtests):
    """A day begins in another time zone, and ends when the next one begins."""
    bank_account()
    for words in (
        "tax_report --from 2026-01-01 --to 9999-12-31",
        "tax_report --from 0001-01-01 --to 2026-01-31",
        "reconcile --from 2026-01-01 --to 9999-12-31",
        "fee_invoices --month 9999-12 --dry-run",
        "fee_invoices --month 0001-01",
    ):
        with subtests.test(words), pytest.raises(CommandError, match="must be a") as refused:
            call_command(*words.split())
        assert refused.value.returncode == 2
