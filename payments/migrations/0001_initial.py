from django.conf import settings
from django.db import migrations, models
from django.db.models import Case, F, Q, When
from django.db.models.functions import Upper

import payments.models.challenges
import payments.models.fees
import payments.models.rail_choices
from kit.db.migration_operations import AddPostgreSQLIndex

# The amount that a transaction has collected.
COLLECTED = Case(
    When(method="virtual_account", status="success", then=F("amount")), default=F("amount_captured")
)


class Migration(migrations.Migration):
    initial = True

    # A database that has all of these goes on as it is. Remove this list one release after 0.1.0.
    replaces = [
        ("payments", "0002_fees"),
        ("payments", "0003_funding"),
        ("payments", "0004_settlement"),
        ("payments", "0005_reversals"),
        ("payments", "0006_virtual_accounts"),
        ("payments", "0007_dashboard_search"),
        ("payments", "0008_connectors"),
        ("payments", "0009_reconciliation"),
        ("payments", "0010_account_search"),
        ("payments", "0011_day_totals"),
        ("payments", "0012_metadata"),
        ("payments", "0013_trace_counter_hours"),
        ("payments", "0014_tariff_currency"),
        ("payments", "0015_proposals"),
        ("payments", "0016_payout_returns"),
        ("payments", "0017_copy_reversals"),
        ("payments", "0018_validate_returned_amounts"),
        ("payments", "0019_query_leases"),
        ("payments", "0020_refused_voids"),
        ("payments", "0021_refunds_of_transfers"),
        ("payments", "0022_validate_refunds_of_transfers"),
        ("payments", "0023_returned_refunds"),
        ("payments", "0024_metadata_search"),
        ("payments", "0025_ambiguous_payout_returns"),
        ("payments", "0026_card_number_hashes"),
        ("payments", "0027_index_card_number_hashes"),
    ]

    dependencies = [
        ("merchants", "0001_initial"),
        ("virtual_accounts", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="TraceCounter",
            fields=[
                ("name", models.CharField(max_length=20, primary_key=True, serialize=False)),
                ("taken", models.BigIntegerField(default=0)),
                ("hour", models.BigIntegerField(db_default=0, default=0)),
                ("hour_start", models.BigIntegerField(db_default=0, default=0)),
                ("server", models.CharField(db_default="", default="", max_length=40)),
            ],
        ),
        migrations.CreateModel(
            name="Transaction",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("reference", models.CharField(max_length=100)),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                (
                    "request_type",
                    models.CharField(
                        choices=[("payment", "Payment"), ("payout", "Payout"), ("card_check", "Card Check")],
                        max_length=10,
                    ),
                ),
                (
                    "method",
                    models.CharField(
                        choices=[("card", "Card"), ("virtual_account", "Virtual Account"), ("bank", "Bank")],
                        max_length=16,
                    ),
                ),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("success", "Success"), ("failed", "Failed")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                (
                    "awaiting",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("rail", "Rail"),
                            ("reversal", "Reversal"),
                            ("payer", "Payer"),
                            ("transfer", "Transfer"),
                            ("capture", "Capture"),
                            ("", "nothing"),
                        ],
                        default="rail",
                        max_length=8,
                    ),
                ),
                (
                    "refund_status",
                    models.CharField(
                        choices=[
                            ("none", "None"),
                            ("partially_refunded", "Partially Refunded"),
                            ("refunded", "Refunded"),
                            ("refund_failed", "Refund Failed"),
                        ],
                        default="none",
                        max_length=20,
                    ),
                ),
                ("response_code", models.CharField(default="10001", max_length=5)),
                ("response_summary", models.CharField(default="Processing", max_length=255)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("fee", models.BigIntegerField(default=0)),
                ("captures_at_once", models.BooleanField(default=True)),
                ("challenge_preference", models.CharField(blank=True, max_length=20)),
                ("amount_captured", models.BigIntegerField(default=0)),
                ("amount_refunded", models.BigIntegerField(default=0)),
                ("amount_being_refunded", models.BigIntegerField(default=0)),
                ("narration", models.CharField(blank=True, max_length=255)),
                ("payment_ip", models.GenericIPAddressField(blank=True, null=True)),
                ("redirect_url", models.CharField(blank=True, max_length=2048)),
                ("customer_name", models.CharField(blank=True, max_length=255)),
                ("customer_email", models.CharField(blank=True, max_length=254)),
                ("customer_reference", models.CharField(blank=True, max_length=100)),
                ("account_number", models.CharField(blank=True, max_length=10)),
                ("bank_code", models.CharField(blank=True, max_length=10)),
                ("card_brand", models.CharField(blank=True, max_length=10)),
                ("card_bin", models.CharField(blank=True, max_length=6)),
                ("card_last4", models.CharField(blank=True, max_length=4)),
                ("card_expiry_month", models.CharField(blank=True, max_length=2)),
                ("card_expiry_year", models.CharField(blank=True, max_length=4)),
                ("system_trace_audit_number", models.CharField(blank=True, max_length=6)),
                ("retrieval_reference_number", models.CharField(blank=True, max_length=12)),
                ("gateway_code", models.CharField(blank=True, max_length=3)),
                ("gateway_recommendation", models.CharField(blank=True, max_length=16)),
                ("acquirer_transaction_id", models.CharField(blank=True, max_length=64)),
                ("authorization_code", models.CharField(blank=True, max_length=6)),
                ("merchant_descriptor", models.CharField(blank=True, max_length=22)),
                ("next_query_at", models.DateTimeField(null=True)),
                ("queries_made", models.PositiveSmallIntegerField(default=0)),
                ("expires_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                ("fee_rule", models.JSONField(default=dict)),
                (
                    "settle_status",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("initiated", "Initiated"),
                            ("pending", "Pending"),
                            ("rejected", "Rejected"),
                            ("approved", "Approved"),
                            ("released", "Released"),
                        ],
                        default="",
                        max_length=9,
                    ),
                ),
                (
                    "session",
                    models.OneToOneField(
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="payment",
                        to="virtual_accounts.session",
                    ),
                ),
                ("connector", models.CharField(blank=True, max_length=20)),
                ("metadata", models.JSONField(blank=True, null=True)),
                ("amount_returned", models.BigIntegerField(db_default=0, default=0)),
                ("query_leased_until", models.DateTimeField(null=True)),
                ("card_number_hash", models.CharField(blank=True, db_default="", default="", max_length=64)),
                ("card_number_mismatches", models.PositiveSmallIntegerField(db_default=0, default=0)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["business", "-id"], name="transactions_newest_first"),
                    models.Index(
                        condition=Q(awaiting__in=["payer", "capture"]),
                        fields=["expires_at"],
                        name="transactions_overdue",
                    ),
                    models.Index(
                        condition=Q(
                            request_type="payment", settle_status__in=["", "rejected"], status="success"
                        ),
                        fields=["business", "currency", "finished_at"],
                        name="transactions_unsettled",
                    ),
                    models.Index(fields=["business", "request_type", "-id"], name="transactions_by_type"),
                    models.Index(
                        fields=["business", "request_type", "status", "-id"], name="transactions_by_status"
                    ),
                    models.Index(
                        condition=~Q(card_last4=""),
                        fields=["business", "card_last4", "-id"],
                        name="transactions_by_last4",
                    ),
                    models.Index(
                        condition=~Q(system_trace_audit_number=""),
                        fields=["business", "system_trace_audit_number"],
                        name="transactions_by_stan",
                    ),
                    models.Index(
                        F("business"),
                        Upper("customer_email"),
                        F("id").desc(),
                        condition=~Q(customer_email=""),
                        name="transactions_by_email",
                    ),
                    models.Index(
                        condition=Q(awaiting__in=["rail", "reversal"]),
                        fields=["next_query_at"],
                        name="transactions_unanswered",
                    ),
                    models.Index(
                        condition=~Q(account_number=""),
                        fields=["account_number"],
                        name="transactions_by_account",
                    ),
                    models.Index(
                        condition=Q(method="card") & ~Q(fingerprint="") | ~Q(card_number_hash=""),
                        fields=["created_at"],
                        name="transactions_card_number_hash",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "reference"), name="one_transaction_per_reference"
                    ),
                    models.CheckConstraint(
                        condition=Q(amount__gt=0) | Q(amount=0, request_type="card_check"),
                        name="amount_is_positive",
                    ),
                    models.CheckConstraint(
                        condition=Q(amount_captured__gte=0, amount_captured__lte=F("amount")),
                        name="captured_within_authorised",
                    ),
                    models.CheckConstraint(
                        condition=Q(finished_at__isnull=True, status="pending")
                        | Q(awaiting="", finished_at__isnull=False, status__in=["success", "failed"]),
                        name="only_finished_transactions_have_finished_at",
                    ),
                    models.CheckConstraint(
                        condition=Q(status="success") | Q(amount_captured=0), name="only_success_captures"
                    ),
                    models.CheckConstraint(
                        condition=Q(settle_status="")
                        | Q(
                            request_type="payment",
                            settle_status__in=["initiated", "pending", "rejected", "approved", "released"],
                            status="success",
                        ),
                        name="only_successful_payments_settle",
                    ),
                    models.CheckConstraint(
                        condition=Q(method="virtual_account", session__isnull=False)
                        | Q(~Q(method="virtual_account"), session__isnull=True),
                        name="virtual_account_payments_have_sessions",
                    ),
                    models.CheckConstraint(
                        condition=~Q(status="pending")
                        | Q(awaiting__in=["rail", "reversal", "payer", "transfer", "capture"]),
                        name="pending_transactions_await_something",
                    ),
                    models.CheckConstraint(
                        condition=Q(amount_returned=0)
                        | Q(
                            amount_returned__gt=0,
                            amount_returned__lte=F("amount"),
                            request_type="payout",
                            status="success",
                        ),
                        name="returned_within_successful_payouts",
                    ),
                    models.CheckConstraint(
                        condition=Q(
                            amount_being_refunded__gte=0,
                            amount_refunded__gte=0,
                            amount_refunded__lte=COLLECTED - F("amount_being_refunded"),
                        ),
                        name="refunded_within_collected",
                    ),
                    models.CheckConstraint(
                        condition=Q(amount_refunded=0, refund_status="none")
                        | Q(
                            amount_refunded__gt=0,
                            amount_refunded__lt=COLLECTED,
                            refund_status="partially_refunded",
                        )
                        | Q(amount_refunded=COLLECTED, amount_refunded__gt=0, refund_status="refunded")
                        | Q(amount_refunded__lt=COLLECTED, refund_status="refund_failed"),
                        name="refund_status_follows_amounts",
                    ),
                    models.CheckConstraint(
                        condition=Q(card_number_mismatches__lt=5)
                        | Q(card_number_hash="", card_number_mismatches=5),
                        name="card_number_hash_is_erased_at_the_bound",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Challenge",
            fields=[
                (
                    "token",
                    models.CharField(
                        default=payments.models.challenges.new_challenge_token,
                        max_length=43,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("wrong_codes", models.PositiveSmallIntegerField(default=0)),
                ("passed_at", models.DateTimeField(null=True)),
                ("created_at", models.DateTimeField()),
                (
                    "transaction",
                    models.OneToOneField(
                        on_delete=models.PROTECT, related_name="challenge", to="payments.transaction"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=Q(wrong_codes__lte=3), name="three_wrong_codes_at_most")
                ],
            },
        ),
        migrations.CreateModel(
            name="CardOperation",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "kind",
                    models.CharField(
                        choices=[("capture", "Capture"), ("void", "Void"), ("refund", "Refund")], max_length=7
                    ),
                ),
                ("reference", models.CharField(max_length=100, null=True)),
                ("fingerprint", models.CharField(blank=True, max_length=64)),
                ("reason", models.CharField(blank=True, max_length=255)),
                ("amount", models.BigIntegerField()),
                (
                    "status",
                    models.CharField(
                        choices=[("pending", "Pending"), ("success", "Success"), ("failed", "Failed")],
                        default="pending",
                        max_length=8,
                    ),
                ),
                ("response_code", models.CharField(default="10001", max_length=5)),
                ("response_summary", models.CharField(default="Processing", max_length=255)),
                ("gateway_code", models.CharField(blank=True, max_length=3)),
                ("next_query_at", models.DateTimeField(null=True)),
                ("queries_made", models.PositiveSmallIntegerField(default=0)),
                ("created_at", models.DateTimeField()),
                ("finished_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                (
                    "transaction",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="operations", to="payments.transaction"
                    ),
                ),
                ("retrieval_reference_number", models.CharField(blank=True, max_length=12)),
                ("system_trace_audit_number", models.CharField(blank=True, max_length=6)),
                ("query_leased_until", models.DateTimeField(null=True)),
                (
                    "acquirer_transaction_id",
                    models.CharField(blank=True, db_default="", default="", max_length=64),
                ),
                ("connector", models.CharField(blank=True, db_default="", default="", max_length=20)),
                (
                    "destination_account_number",
                    models.CharField(blank=True, db_default="", default="", max_length=10),
                ),
                (
                    "destination_bank_code",
                    models.CharField(blank=True, db_default="", default="", max_length=10),
                ),
                ("destination_name", models.CharField(blank=True, db_default="", default="", max_length=255)),
            ],
            options={
                "indexes": [
                    models.Index(
                        condition=Q(status="pending"), fields=["next_query_at"], name="operations_unanswered"
                    ),
                    models.Index(
                        condition=Q(kind="void", status="failed"),
                        fields=["finished_at"],
                        name="operations_voids_refused",
                    ),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "reference"), name="one_refund_per_reference"
                    ),
                    models.UniqueConstraint(
                        condition=Q(kind__in=["capture", "void"], status__in=["pending", "success"]),
                        fields=("transaction",),
                        name="captured_or_voided_once",
                    ),
                    models.CheckConstraint(
                        condition=Q(kind="refund", reference__isnull=False)
                        | Q(~Q(kind="refund"), reference__isnull=True),
                        name="refunds_have_references",
                    ),
                    models.CheckConstraint(condition=Q(amount__gt=0), name="operation_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(finished_at__isnull=True, status="pending")
                        | Q(~Q(status="pending"), finished_at__isnull=False),
                        name="only_finished_operations_have_finished_at",
                    ),
                    models.CheckConstraint(
                        condition=Q(
                            connector="",
                            destination_account_number="",
                            destination_bank_code="",
                            destination_name="",
                        )
                        | Q(kind="refund")
                        & ~Q(connector="")
                        & ~Q(destination_name="")
                        & ~Q(destination_account_number="")
                        & ~Q(destination_bank_code=""),
                        name="transfer_refunds_have_destinations",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Transition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("attribute", models.CharField(max_length=20)),
                ("before", models.CharField(blank=True, max_length=20)),
                ("after", models.CharField(blank=True, max_length=20)),
                (
                    "cause",
                    models.CharField(
                        choices=[
                            ("rail", "Rail"),
                            ("payer", "Payer"),
                            ("merchant", "Merchant"),
                            ("requery", "Requery"),
                            ("expiry", "Expiry"),
                            ("funding", "Funding"),
                            ("settlement", "Settlement"),
                            ("transfer", "Transfer"),
                            ("staff", "Staff"),
                            ("return", "Return"),
                        ],
                        max_length=10,
                    ),
                ),
                ("at", models.DateTimeField()),
                (
                    "transaction",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="transitions", to="payments.transaction"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Tariff",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "flow",
                    models.CharField(
                        choices=[
                            ("card", "card"),
                            ("virtual_account", "virtual_account"),
                            ("payout", "payout"),
                            ("card_check", "card_check"),
                        ],
                        max_length=16,
                    ),
                ),
                (
                    "is_withdrawn",
                    models.BooleanField(
                        default=False,
                        help_text="From now on the default applies again; the numbers do not count.",
                        verbose_name="withdrawn",
                    ),
                ),
                ("basis_points", models.PositiveIntegerField(default=0, help_text="150 is 1.5 %.")),
                (
                    "fixed",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Minor units; above the steps, if there are any."
                    ),
                ),
                (
                    "fixed_waived_below",
                    models.PositiveBigIntegerField(
                        default=0, help_text="Amounts below this many minor units are spared the fixed part."
                    ),
                ),
                (
                    "cap",
                    models.PositiveBigIntegerField(
                        blank=True, help_text="Minor units the fee never exceeds; empty: no cap.", null=True
                    ),
                ),
                (
                    "steps",
                    models.JSONField(
                        blank=True,
                        default=list,
                        help_text="[[limit, price], …]: the fixed part of amounts up to each limit, in minor units.",
                        validators=[payments.models.fees.is_list_of_steps],
                    ),
                ),
                ("valid_from", models.DateTimeField()),
                ("agreed_by", models.CharField(help_text="Who entered it.", max_length=254)),
                (
                    "business",
                    models.ForeignKey(
                        blank=True,
                        help_text="Empty: the default of every business that has agreed nothing else.",
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="merchants.business",
                    ),
                ),
                (
                    "currency",
                    models.CharField(
                        db_default="NGN",
                        default="NGN",
                        help_text="ISO 4217. All amounts below are in its minor units.",
                        max_length=3,
                    ),
                ),
                (
                    "is_offered",
                    models.BooleanField(
                        db_default=True,
                        default=True,
                        help_text="Unticked: new transactions of this flow and currency are refused with no_price.",
                        verbose_name="offered",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["business", "flow", "-id"], name="tariffs_latest_first")],
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(flow__in=["card", "virtual_account", "payout", "card_check"]),
                        name="known_flow",
                    ),
                    models.CheckConstraint(
                        condition=Q(basis_points__lte=10000), name="basis_points_within_the_whole"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="SettlementBatch",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("currency", models.CharField(max_length=3)),
                ("day", models.DateField(help_text="Business day, Africa/Lagos.")),
                ("number", models.PositiveSmallIntegerField(default=1)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("initiated", "Initiated"),
                            ("pending", "Pending"),
                            ("rejected", "Rejected"),
                            ("approved", "Approved"),
                            ("released", "Released"),
                        ],
                        default="initiated",
                        max_length=9,
                    ),
                ),
                ("payments_count", models.PositiveIntegerField(default=0)),
                ("gross", models.BigIntegerField(default=0)),
                ("fees", models.BigIntegerField(default=0)),
                ("refunds", models.BigIntegerField(default=0)),
                ("brought_forward", models.BigIntegerField(default=0)),
                ("net", models.BigIntegerField(default=0)),
                ("carried_forward", models.BigIntegerField(default=0)),
                ("reason", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                (
                    "carried_into",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="brought",
                        to="payments.settlementbatch",
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "settlement batches",
                "permissions": [("decide_settlementbatch", "Can approve, release and reject batches")],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("business", "currency", "day", "number"), name="one_batch_per_day_and_number"
                    ),
                    models.UniqueConstraint(
                        condition=Q(state="initiated"),
                        fields=("business", "currency"),
                        name="one_batch_being_built",
                    ),
                    models.CheckConstraint(
                        condition=Q(state__in=["initiated", "pending", "rejected", "approved", "released"]),
                        name="known_batch_state",
                    ),
                    models.CheckConstraint(
                        condition=Q(brought_forward__gte=0, fees__gte=0, gross__gte=0, refunds__gte=0),
                        name="batch_parts_are_not_negative",
                    ),
                    models.CheckConstraint(
                        condition=Q(
                            gross=F("net")
                            + F("fees")
                            + F("refunds")
                            + F("brought_forward")
                            - F("carried_forward")
                        ),
                        name="batch_adds_up",
                    ),
                    models.CheckConstraint(
                        condition=Q(carried_forward=0, net__gte=0) | Q(carried_forward__gt=0, net=0),
                        name="batch_pays_or_carries",
                    ),
                    models.CheckConstraint(
                        condition=Q(carried_into__isnull=True) | Q(carried_forward__gt=0, state="released"),
                        name="released_debts_are_carried",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="BatchTransition",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("before", models.CharField(blank=True, max_length=9)),
                ("after", models.CharField(max_length=9)),
                (
                    "actor",
                    models.CharField(
                        help_text="An e-mail address, or the command that acted.", max_length=254
                    ),
                ),
                ("reason", models.CharField(blank=True, max_length=255)),
                ("at", models.DateTimeField()),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="transitions", to="payments.settlementbatch"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="SettlementItem",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("gross", models.BigIntegerField(default=0)),
                ("fee", models.BigIntegerField(default=0)),
                ("refunded", models.BigIntegerField(default=0)),
                ("is_live", models.BooleanField(default=True)),
                (
                    "batch",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="items", to="payments.settlementbatch"
                    ),
                ),
                (
                    "operation",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to="payments.cardoperation",
                    ),
                ),
                (
                    "transaction",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="payments.transaction"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(is_live=True, operation__isnull=True),
                        fields=("transaction",),
                        name="payment_in_one_live_batch",
                    ),
                    models.UniqueConstraint(
                        condition=Q(is_live=True, operation__isnull=False),
                        fields=("operation",),
                        name="refund_in_one_live_batch",
                    ),
                    models.CheckConstraint(
                        condition=Q(fee__gte=0, gross__gt=0, operation__isnull=True, refunded=0)
                        | Q(fee=0, gross=0, operation__isnull=False, refunded__gt=0),
                        name="item_is_a_payment_or_a_refund",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="Reversal",
            fields=[
                (
                    "transaction",
                    models.OneToOneField(
                        on_delete=models.PROTECT,
                        primary_key=True,
                        related_name="reversal",
                        serialize=False,
                        to="payments.transaction",
                    ),
                ),
                ("reason", models.CharField(max_length=255)),
                ("actor", models.CharField(max_length=254)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="RailChoice",
            fields=[
                (
                    "business",
                    models.OneToOneField(
                        on_delete=models.PROTECT,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to="merchants.business",
                    ),
                ),
                (
                    "card_acquirer",
                    models.CharField(
                        blank=True,
                        help_text="Empty: CARD_ACQUIRER's. Ours: payments.rails.sandbox.SandboxAcquirer, payments.rails.iso8583.Iso8583Acquirer.",
                        max_length=200,
                    ),
                ),
                (
                    "payout_bank",
                    models.CharField(
                        blank=True,
                        help_text="Empty: PAYOUT_BANK's. Ours: payments.rails.sandbox.SandboxBank, payments.rails.http_bank.HttpBank.",
                        max_length=200,
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Reconciliation",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "source",
                    models.CharField(
                        choices=[("acquirer", "Acquirer"), ("bank", "Bank"), ("both", "Both")], max_length=8
                    ),
                ),
                ("file_name", models.CharField(max_length=255)),
                ("file_hash", models.CharField(max_length=64)),
                ("first_day", models.DateField()),
                ("last_day", models.DateField()),
                ("matched", models.PositiveIntegerField()),
                ("different", models.PositiveIntegerField()),
                ("missing_here", models.PositiveIntegerField()),
                ("missing_there", models.PositiveIntegerField()),
                ("actor", models.CharField(max_length=254)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="ReconciliationLine",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "result",
                    models.CharField(
                        choices=[
                            ("matched", "Matched"),
                            ("different", "Different"),
                            ("missing_here", "Missing Here"),
                            ("missing_there", "Missing There"),
                        ],
                        max_length=13,
                    ),
                ),
                ("line", models.PositiveIntegerField(null=True)),
                ("reference", models.CharField(max_length=100)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("day", models.DateField()),
                ("direction", models.CharField(max_length=3)),
                ("kind", models.CharField(blank=True, max_length=16)),
                ("entry_id", models.UUIDField(null=True)),
                ("differences", models.JSONField(default=dict)),
                (
                    "reconciliation",
                    models.ForeignKey(
                        on_delete=models.PROTECT, related_name="lines", to="payments.reconciliation"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(
                        condition=Q(entry_id__isnull=True, line__isnull=False, result="missing_here")
                        | Q(entry_id__isnull=False, line__isnull=True, result="missing_there")
                        | Q(entry_id__isnull=False, line__isnull=False, result__in=["matched", "different"]),
                        name="lines_have_the_sides_they_compare",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RolledDay",
            fields=[
                ("day", models.DateField(primary_key=True, serialize=False)),
            ],
        ),
        migrations.CreateModel(
            name="DayTotals",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("tallies", models.JSONField()),
                ("unfinished", models.JSONField()),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                (
                    "day",
                    models.ForeignKey(
                        db_column="day", on_delete=models.PROTECT, related_name="+", to="payments.rolledday"
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "day totals",
                "constraints": [
                    models.UniqueConstraint(fields=("business", "day"), name="one_total_per_business_and_day")
                ],
            },
        ),
        migrations.CreateModel(
            name="Proposal",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                (
                    "action",
                    models.CharField(
                        choices=[
                            ("top_up", "Top up a wallet"),
                            ("approve_batch", "Approve a settlement batch"),
                            ("release_batch", "Release a settlement batch"),
                            ("credit_unapplied", "Credit an unapplied transfer"),
                            ("return_unapplied", "Return an unapplied transfer"),
                            ("reverse_payout", "Reverse a payout"),
                            ("resolve_transaction", "Resolve an unknown transaction"),
                            ("resolve_operation", "Resolve an unknown operation"),
                        ],
                        max_length=20,
                    ),
                ),
                ("target", models.UUIDField()),
                ("currency", models.CharField(max_length=3)),
                ("amount", models.BigIntegerField()),
                ("parameters", models.JSONField(default=dict)),
                ("reason", models.CharField(max_length=255)),
                ("evidence", models.CharField(blank=True, max_length=2000)),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("open", "Open"),
                            ("confirmed", "Confirmed"),
                            ("declined", "Declined"),
                            ("expired", "Expired"),
                        ],
                        default="open",
                        max_length=9,
                    ),
                ),
                ("decision_reason", models.CharField(blank=True, max_length=255)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("decided_at", models.DateTimeField(null=True)),
                (
                    "business",
                    models.ForeignKey(
                        db_index=False, on_delete=models.PROTECT, related_name="+", to="merchants.business"
                    ),
                ),
                (
                    "decided_by",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "proposed_by",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=models.PROTECT,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "permissions": [("resolve_unknown", "Can resolve outcomes that no rail answers")],
                "constraints": [
                    models.UniqueConstraint(
                        condition=Q(state="open"), fields=("target",), name="one_open_proposal_per_target"
                    ),
                    models.CheckConstraint(
                        condition=Q(state__in=["open", "confirmed", "declined", "expired"]),
                        name="known_proposal_state",
                    ),
                    models.CheckConstraint(
                        condition=~Q(state="confirmed")
                        | Q(decided_by__isnull=False) & ~Q(decided_by=F("proposed_by")),
                        name="a_second_person_confirms",
                    ),
                    models.CheckConstraint(
                        condition=Q(decided_at__isnull=True, state="open")
                        | Q(~Q(state="open"), decided_at__isnull=False),
                        name="only_decided_proposals_have_decided_at",
                    ),
                    models.CheckConstraint(
                        condition=Q(amount__gte=0), name="proposed_amount_is_not_negative"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PayoutReturn",
            fields=[
                ("id", models.UUIDField(editable=False, primary_key=True, serialize=False)),
                ("bank_reference", models.CharField(max_length=100, null=True, unique=True)),
                ("payout_reference", models.CharField(blank=True, max_length=100)),
                ("amount", models.BigIntegerField()),
                ("currency", models.CharField(max_length=3)),
                ("reason", models.CharField(blank=True, max_length=255)),
                (
                    "applied",
                    models.CharField(
                        choices=[("reversed", "Reversed"), ("failed", "Failed"), ("unmatched", "Unmatched")],
                        max_length=9,
                    ),
                ),
                (
                    "why",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "applied"),
                            ("unknown_payout", "Unknown Payout"),
                            ("refund", "Refund"),
                            ("ambiguous", "Ambiguous"),
                            ("other_currency", "Other Currency"),
                            ("too_much", "Too Much"),
                            ("partial", "Partial"),
                            ("already_failed", "Already Failed"),
                        ],
                        max_length=14,
                    ),
                ),
                ("actor", models.CharField(max_length=254)),
                ("extra_members", models.JSONField(blank=True, default=dict)),
                ("at", models.DateTimeField()),
                (
                    "transaction",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=models.PROTECT,
                        related_name="returns",
                        to="payments.transaction",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.CheckConstraint(condition=Q(amount__gt=0), name="returned_amount_is_positive"),
                    models.CheckConstraint(
                        condition=Q(applied__in=["reversed", "failed"], transaction__isnull=False, why="")
                        | Q(applied="unmatched") & ~Q(why=""),
                        name="returns_are_applied_or_not",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="RailSilence",
            fields=[
                ("lane", models.CharField(max_length=40, primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
                ("probed_at", models.DateTimeField()),
            ],
        ),
        # The dashboard's search for metadata.
        AddPostgreSQLIndex(
            name="transactions_by_metadata",
            table="payments_transaction",
            definition="USING gin (metadata jsonb_path_ops) WHERE metadata IS NOT NULL",
        ),
    ]
