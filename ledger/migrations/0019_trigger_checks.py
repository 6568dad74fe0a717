from django.db import migrations
from django.db.models import Q

from kit.db.triggered_checks import TriggeredCheck


class Migration(migrations.Migration):
    """Enforce the larger checks of accounts and entries by triggers. Rows have kept them so far, so none is checked again."""

    dependencies = [("ledger", "0018_validate_mirrors")]

    operations = [
        migrations.RemoveConstraint("account", "accounts_of_several_have_names"),
        migrations.RemoveConstraint("account", "house_accounts_have_no_business"),
        migrations.RemoveConstraint("entry", "house_entries_have_no_business"),
        migrations.AddConstraint(
            "account",
            TriggeredCheck(
                condition=Q(
                    Q(
                        ("business__isnull", True),
                        (
                            "kind__in",
                            [
                                "acquirer_receivable",
                                "bank_clearing",
                                "suspense",
                                "late_charges",
                                "chargeback_clearing",
                                "taxes_payable",
                                "bank",
                                "acquirer",
                                "provider",
                                "costs",
                                "write_offs",
                                "reserves",
                                "reserves_contra",
                            ],
                        ),
                    ),
                    Q(
                        ("business__isnull", False),
                        Q(
                            (
                                "kind__in",
                                [
                                    "suspense",
                                    "late_charges",
                                    "chargeback_clearing",
                                    "bank",
                                    "acquirer",
                                    "provider",
                                    "costs",
                                    "write_offs",
                                    "reserves",
                                    "reserves_contra",
                                ],
                            ),
                            _negated=True,
                        ),
                    ),
                    _connector="OR",
                ),
                name="house_accounts_have_no_business",
            ),
        ),
        migrations.AddConstraint(
            "account",
            TriggeredCheck(
                condition=Q(
                    Q(
                        ("business__isnull", True),
                        ("kind__in", ("bank", "acquirer", "provider", "costs")),
                        Q(("name", ""), _negated=True),
                    ),
                    Q(
                        Q(("kind__in", ("bank", "acquirer", "provider", "costs")), _negated=True),
                        ("name", ""),
                    ),
                    _connector="OR",
                ),
                name="accounts_of_several_have_names",
            ),
        ),
        migrations.AddConstraint(
            "entry",
            TriggeredCheck(
                condition=Q(
                    Q(
                        ("business__isnull", True),
                        (
                            "kind__in",
                            (
                                "suspense_in",
                                "suspense_out",
                                "late_charge_in",
                                "late_charge_out",
                                "chargeback_in",
                                "chargeback_out",
                                "statement_opened",
                                "statement_matched",
                                "journal_house",
                                "reserves_mirrored",
                            ),
                        ),
                    ),
                    Q(
                        ("business__isnull", False),
                        Q(
                            (
                                "kind__in",
                                (
                                    "suspense_in",
                                    "suspense_out",
                                    "late_charge_in",
                                    "late_charge_out",
                                    "chargeback_in",
                                    "chargeback_out",
                                    "statement_opened",
                                    "statement_matched",
                                    "journal_house",
                                    "reserves_mirrored",
                                ),
                            ),
                            _negated=True,
                        ),
                    ),
                    _connector="OR",
                ),
                name="house_entries_have_no_business",
            ),
        ),
    ]
