"""Fee rules of businesses. Each row replaces the earlier ones from its `valid_from` on."""

from typing import ClassVar

from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import Q

from kit.money.money import has_minor_unit
from merchants.models import Business
from payments.rules.fees import HOME_CURRENCY, FeeRule, Flow, InvalidFeeRule


def is_list_of_steps(steps: object) -> None:
    """Validate that a value is a list of [limit, price] pairs of integers."""
    is_one = isinstance(steps, list) and all(
        isinstance(step, list) and [type(number) for number in step] == [int, int] for step in steps
    )
    if not is_one:
        raise ValidationError("Steps are a list of [limit, price], whole minor units.")


class Tariff(models.Model):
    """The fee rule of one flow in one currency, for one business or as the default of all. Append-only.

    A business pays by its own latest row. If it has none, or the row was withdrawn, the latest default applies, and
    without a default `fees.default_rule`. Transactions store the rule they were created with.
    """

    business = models.ForeignKey(
        Business,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: the default of every business that has agreed nothing else.",
    )
    flow = models.CharField(max_length=16, choices=[(flow.value, flow.value) for flow in Flow])
    currency = models.CharField(
        max_length=3,
        default=HOME_CURRENCY,
        db_default=HOME_CURRENCY,
        help_text="ISO 4217. All amounts below are in its minor units.",
    )
    is_offered = models.BooleanField(
        "offered",
        default=True,
        db_default=True,
        help_text="Unticked: new transactions of this flow and currency are refused with no_price.",
    )
    is_withdrawn = models.BooleanField(
        "withdrawn",
        default=False,
        help_text="From now on the default applies again; the numbers do not count.",
    )
    basis_points = models.PositiveIntegerField(default=0, help_text="150 is 1.5 %.")
    fixed = models.PositiveBigIntegerField(
        default=0, help_text="Minor units; above the steps, if there are any."
    )
    fixed_waived_below = models.PositiveBigIntegerField(
        default=0, help_text="Amounts below this many minor units are spared the fixed part."
    )
    cap = models.PositiveBigIntegerField(
        null=True, blank=True, help_text="Minor units the fee never exceeds; empty: no cap."
    )
    steps = models.JSONField(
        default=list,
        blank=True,
        validators=[is_list_of_steps],
        help_text="[[limit, price], …]: the fixed part of amounts up to each limit, in minor units.",
    )
    tax_basis_points = models.PositiveIntegerField(
        default=0,
        db_default=0,
        help_text="Tax on the fee, charged in addition to it: 750 is 7.5 %, the VAT on fees in NGN. 0 for none.",
    )
    stamp_duty = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="Payouts: a tax of this many minor units; 0 for none."
    )
    stamp_duty_from = models.PositiveBigIntegerField(
        default=0, db_default=0, help_text="Smaller payouts have no stamp duty, nor have salaries."
    )
    valid_from = models.DateTimeField()
    agreed_by = models.CharField(max_length=254, help_text="Who entered it.")

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=Q(flow__in=[flow.value for flow in Flow]), name="known_flow"),
            models.CheckConstraint(
                condition=Q(basis_points__lte=10_000), name="basis_points_within_the_whole"
            ),
            models.CheckConstraint(
                condition=Q(tax_basis_points__lte=10_000), name="tax_basis_points_within_the_whole"
            ),
            models.CheckConstraint(
                condition=Q(stamp_duty=0) | Q(flow="payout"), name="only_payouts_have_stamp_duty"
            ),
        ]
        indexes: ClassVar = [models.Index(fields=["business", "flow", "-id"], name="tariffs_latest_first")]

    def __str__(self) -> str:
        return f"{self.flow} {self.currency} of {self.business or 'all businesses'}"

    @property
    def rule(self) -> FeeRule:
        return FeeRule(
            basis_points=self.basis_points,
            fixed=self.fixed,
            fixed_waived_below=self.fixed_waived_below,
            cap=self.cap,
            steps=tuple((limit, price) for limit, price in self.steps),
            tax_basis_points=self.tax_basis_points,
            stamp_duty=self.stamp_duty,
            stamp_duty_from=self.stamp_duty_from if self.stamp_duty else 0,
        )

    def clean(self) -> None:
        if not has_minor_unit(self.currency):
            raise ValidationError({"currency": "Enter an ISO 4217 currency such as NGN."})
        if self.stamp_duty and self.flow != Flow.PAYOUT:
            raise ValidationError({"stamp_duty": "Only payouts have stamp duty."})
        try:
            is_list_of_steps(self.steps)
            self.rule.check()
        except InvalidFeeRule as wrong:
            raise ValidationError(str(wrong)) from None
