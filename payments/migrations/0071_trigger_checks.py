from django.db import migrations
from django.db.models import Case, F, Q, When

from kit.db.triggered_checks import TriggeredCheck


COLLECTED = Case(
    When(method="virtual_account", status="success", then=F("amount")),
    default=F("amount_captured"),
)


class Migration(migrations.Migration):
    """Enforce the larger checks of transactions by triggers. Rows have kept them so far, so none is checked again."""

    dependencies = [("payments", "0070_index_returned_payouts")]

    operations = [
        migrations.RemoveConstraint("transaction", "only_finished_transactions_have_finished_at"),
        migrations.RemoveConstraint("transaction", "only_successful_payments_settle"),
        migrations.RemoveConstraint("transaction", "returned_within_successful_payouts"),
        migrations.RemoveConstraint("transaction", "refunded_within_collected"),
        migrations.RemoveConstraint("transaction", "refund_status_follows_amounts"),
        migrations.RemoveConstraint("transaction", "pending_transactions_await_something"),
        migrations.RemoveConstraint("transaction", "only_card_payments_are_disputed"),
        migrations.RemoveConstraint("transaction", "only_fees_of_successes_are_taxed"),
        migrations.RemoveConstraint("transaction", "only_payouts_have_a_purpose"),
        migrations.RemoveConstraint("transaction", "only_successful_payouts_pay_stamp_duty"),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("fee_tax", 0),
                    Q(("fee_tax__gt", 0), ("request_type__in", ["payment", "payout"]), ("status", "success")),
                    _connector="OR",
                ),
                name="only_fees_of_successes_are_taxed",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("stamp_duty", 0),
                    Q(("request_type", "payout"), ("stamp_duty__gt", 0), ("status", "success")),
                    _connector="OR",
                ),
                name="only_successful_payouts_pay_stamp_duty",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("purpose", ""),
                    Q(("purpose__in", ["salary", "supplier", "other"]), ("request_type", "payout")),
                    _connector="OR",
                ),
                name="only_payouts_have_a_purpose",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("amount_being_refunded__gte", 0),
                    ("amount_refunded__gte", 0),
                    (
                        "amount_refunded__lte",
                        COLLECTED - F("amount_being_refunded"),
                    ),
                ),
                name="refunded_within_collected",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("amount_returned", 0),
                    Q(
                        ("amount_returned__gt", 0),
                        ("amount_returned__lte", F("amount")),
                        ("request_type", "payout"),
                        ("status", "success"),
                    ),
                    _connector="OR",
                ),
                name="returned_within_successful_payouts",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("amount_disputed", 0),
                    Q(
                        ("amount_disputed__gt", 0),
                        ("method", "card"),
                        ("request_type", "payment"),
                        ("status", "success"),
                    ),
                    _connector="OR",
                ),
                name="only_card_payments_are_disputed",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    Q(("amount_refunded", 0), ("refund_status", "none")),
                    Q(
                        ("amount_refunded__gt", 0),
                        (
                            "amount_refunded__lt",
                            COLLECTED,
                        ),
                        ("refund_status", "partially_refunded"),
                    ),
                    Q(
                        (
                            "amount_refunded",
                            COLLECTED,
                        ),
                        ("amount_refunded__gt", 0),
                        ("refund_status", "refunded"),
                    ),
                    Q(
                        (
                            "amount_refunded__lt",
                            COLLECTED,
                        ),
                        ("refund_status", "refund_failed"),
                    ),
                    _connector="OR",
                ),
                name="refund_status_follows_amounts",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    Q(("finished_at__isnull", True), ("status", "pending")),
                    Q(
                        ("awaiting", ""),
                        ("finished_at__isnull", False),
                        ("status__in", ["success", "failed"]),
                    ),
                    _connector="OR",
                ),
                name="only_finished_transactions_have_finished_at",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    Q(("status", "pending"), _negated=True),
                    ("awaiting__in", ["rail", "reversal", "payer", "transfer", "capture"]),
                    Q(("awaiting__in", ["approval", "server"]), ("request_type", "payout")),
                    _connector="OR",
                ),
                name="pending_transactions_await_something",
            ),
        ),
        migrations.AddConstraint(
            "transaction",
            TriggeredCheck(
                condition=Q(
                    ("settle_status", ""),
                    Q(
                        ("request_type", "payment"),
                        ("settle_status__in", ["initiated", "pending", "rejected", "approved", "released"]),
                        ("status", "success"),
                    ),
                    _connector="OR",
                ),
                name="only_successful_payments_settle",
            ),
        ),
    ]
