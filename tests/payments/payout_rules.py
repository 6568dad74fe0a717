"""Payout batches, approvals, limits and freezes, as rules of the state machine of money.

What must be approved and what is over a limit are computed here again, from rows and settings.
"""

from collections import Counter
from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from kit.api.errors import Problem
from merchants.models import Business, User
from payments.models import (
    PayoutApproval,
    PayoutApprovalGrant,
    PayoutControls,
    PayoutControlsChange,
    Transaction,
    TransactionQuerySet,
)
from payments.services.payouts.controls import payout_freezes, payout_settings, waiting_payouts
from payments.services.payouts.controls.makers import Maker
from payments.services.staff import staff_actions
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.serializers import PayoutBatchSerializer
from payout_batches.services import batches, checks, corrections, sending
from payout_batches.summaries import shown
from tests import orders
from tests.factories import ApiKeyFactory, MemberFactory
from tests.settling import STAFF
from tests.transactions import start

ANY = st.integers(min_value=0)  # picks one of the existing ones
ITEMS = st.lists(
    st.tuples(
        st.sampled_from([1, 700, 20_005, 20_005, 250_000]),
        st.sampled_from(["0123456789", "0123456781", "0000000097", "0000000095", "0000000094"]),
    ),
    min_size=1,
    max_size=3,
)
LIMIT = st.sampled_from([None, None, 700, 300_000])
A_DAY = timedelta(days=1)
Sent = tuple[str, int, str]  # reference, amount and account


class PayoutRules(RuleBasedStateMachine):
    """Members of the business pay many, approve, and set limits, which staff cap."""

    business: Business
    tick: Callable[[], datetime]
    refusable: Callable[[Callable[[], object]], bool]
    submit: Callable[..., None]

    def begin_payouts(self) -> None:
        self.owner, self.partner = (MemberFactory(business=self.business).user for _ in range(2))
        self.checker = MemberFactory(business=self.business, role="finance").user
        self.viewer = MemberFactory(business=self.business, role="viewer").user
        self.key = ApiKeyFactory(business=self.business, made_by=self.owner)
        self.asked: dict[UUID, list[Sent]] = {}  # what approval was asked for, of each batch
        self.judged: set[UUID] = set()  # payouts whose limits were compared

    # Settings

    @rule(
        approval=st.sampled_from(["never", "above", "always"]),
        above=st.sampled_from([700, 250_000]),
        two=st.sampled_from([None, 300_000]),
        for_keys=st.booleans(),
        is_owner=st.booleans(),
    )
    def change_approval(
        self, approval: str, above: int, two: int | None, *, for_keys: bool, is_owner: bool
    ) -> None:
        """What loosens the controls waits for the other owner."""
        self.change_settings(
            self.owner if is_owner else self.partner,
            approval=approval,
            approval_above={"NGN": above} if approval == "above" else {},
            two_approvals_above={"NGN": two} if two else {},
            keys_need_approval=for_keys,
        )

    @rule(
        payout=LIMIT,
        day=LIMIT,
        account=LIMIT,
        new=LIMIT,
        number=st.sampled_from([None, 2]),
        asks=st.booleans(),
    )
    def change_limits(
        self,
        payout: int | None,
        day: int | None,
        account: int | None,
        new: int | None,
        number: int | None,
        *,
        asks: bool,
    ) -> None:
        limits = {
            "per_payout": payout,
            "per_day": day,
            "per_beneficiary_and_day": account,
            "new_beneficiaries": new,
        }
        amounts = {name: {"NGN": limit} if limit else {} for name, limit in limits.items()}
        self.change_settings(self.owner, **amounts, number_per_day=number, ask_instead=asks)

    def change_settings(self, user: User, **values: object) -> None:
        self.refusable(
            lambda: payout_settings.change(
                business=self.business, user=user, actor=STAFF, now=self.tick(), **values
            )
        )

    @precondition(lambda self: self.waiting_changes().exists())
    @rule(who=st.sampled_from(["partner", "partner", "owner", "checker"]), is_withdrawn=st.booleans())
    def decide_about_a_change(self, who: str, *, is_withdrawn: bool) -> None:
        waiting = self.waiting_changes().get()
        user = getattr(self, who)
        decide = payout_settings.withdraw if is_withdrawn else payout_settings.confirm
        is_done = self.refusable(lambda: decide(waiting.pk, user=user, actor=STAFF, now=self.tick()))
        may_confirm = who != "checker" and user.pk != waiting.made_by_id
        assert is_withdrawn or is_done == may_confirm

    def waiting_changes(self) -> "PayoutControlsChange.objects":
        return PayoutControlsChange.objects.filter(business=self.business, state="open")

    @rule(caps=st.sampled_from([{}, {}, {"per_payout": {"NGN": 260_000}}, {"number_per_day": 5}]))
    def cap_limits(self, caps: dict[str, object]) -> None:
        payout_settings.cap(self.business, caps, reason="Risk", actor=STAFF, now=self.tick())

    @rule(is_frozen=st.booleans())
    def freeze_payouts(self, *, is_frozen: bool) -> None:
        if is_frozen:
            self.refusable(
                lambda: payout_freezes.freeze(self.business, reason="Stolen", actor=STAFF, now=self.tick())
            )
        else:
            self.submit(lambda: staff_actions.lift_freeze(self.business, reason="Found"))

    # Single payouts

    def order_payout(self, amount: int, way: dict[str, object]) -> Transaction | None:
        """Order a payout. It is refused exactly if payouts are frozen, or it is over a limit."""
        order = orders.payout(amount=amount, **way)
        refusal = self.expected_refusal(amount, str(order["customer"]["account_number"]))
        if refusal:
            with pytest.raises(Problem) as refused:
                start(order, business=self.business, now=self.tick())
            assert refused.value.default_code == refusal
            return None
        return start(order, business=self.business, now=self.tick())

    def expected_refusal(self, amount: int, account: str) -> str:
        controls = self.controls()
        if controls.frozen_at is not None:
            return "payouts_frozen"
        before = list(self.ordered())
        is_capped = self.is_over(controls.caps, amount, account, before, at=self.clock)
        is_over = self.is_over(limits_of(controls), amount, account, before, at=self.clock)
        return "payout_limit_reached" if is_capped or (is_over and not controls.ask_instead) else ""

    def is_over(
        self,
        limits: dict[str, object],
        amount: int,
        account: str,
        before: list[Transaction],
        *,
        at: datetime,
    ) -> bool:
        """Return whether a payout would be over one of these limits beside the earlier ones."""
        zone = self.business.zone
        counted = [each for each in before if each.status != "failed" or each.finished_at > at]
        today = [
            each for each in counted if each.created_at.astimezone(zone).date() == at.astimezone(zone).date()
        ]
        of_account = [each for each in counted if each.account_number == account]
        is_new = not of_account or at < min(each.created_at for each in of_account) + A_DAY
        used = {
            "per_payout": 0,
            "per_day": total(today),
            "per_beneficiary_and_day": total(each for each in today if each.account_number == account),
            "new_beneficiaries": total(of_account),
        }
        for name, sums in used.items():
            limit = (limits.get(name) or {}).get("NGN")
            if limit is not None and (is_new or name != "new_beneficiaries") and sums + amount > limit:
                return True
        number = limits.get("number_per_day")
        return number is not None and len(today) + 1 > number

    def ordered(self) -> TransactionQuerySet:
        """Return the payouts that limits may count. The machine's are all in NGN."""
        own = Transaction.objects.filter(business=self.business, request_type="payout")
        return own.exclude(reference__startswith="return_").order_by("created_at")

    def controls(self) -> PayoutControls:
        return PayoutControls.objects.filter(business=self.business).first() or PayoutControls()

    @precondition(lambda self: self.waiting_payouts().exists())
    @rule(which=ANY, who=st.sampled_from(["owner", "partner", "checker", "viewer"]))
    def approve_a_payout(self, which: int, who: str) -> None:
        payout, user = self.pick(self.waiting_payouts(), which), getattr(self, who)
        is_frozen = self.controls().frozen_at is not None
        has_granted = PayoutApprovalGrant.objects.filter(approval__transaction=payout, user=user).exists()
        is_expired = payout.approval.expires_at <= self.clock
        has_corrected = PayoutBatchItem.objects.filter(payout=payout, corrected_by=user).exists()
        accepted = self.refusable(
            lambda: waiting_payouts.approve(payout.pk, user=user, actor=STAFF, now=self.tick())
        )
        is_refused = is_frozen or has_granted or is_expired or has_corrected
        assert accepted == (who != "viewer" and not is_refused)

    @precondition(lambda self: self.waiting_payouts().exists())
    @rule(which=ANY, is_rejected=st.booleans())
    def end_a_waiting_payout(self, which: int, *, is_rejected: bool) -> None:
        payout = self.pick(self.waiting_payouts(), which)
        if is_rejected:
            waiting_payouts.reject(payout.pk, reason="No", user=self.owner, actor=STAFF, now=self.tick())
        else:
            waiting_payouts.cancel(payout.pk, now=self.tick())

    def waiting_payouts(self) -> TransactionQuerySet:
        return Transaction.objects.filter(business=self.business, awaiting="approval").order_by("pk")

    # Batches

    @rule(items=ITEMS, is_by_key=st.booleans(), is_later=st.booleans())
    def make_a_batch(self, items: list[tuple[int, str]], *, is_by_key: bool, is_later: bool) -> None:
        payouts = [
            orders.batch_item(
                amount=amount, customer={"name": "Ada Obi", "account_number": account, "bank_code": "058"}
            )
            for amount, account in items
        ]
        request = PayoutBatchSerializer().run_validation(orders.payout_batch(*payouts))
        now = self.tick()
        request |= {"run_at": now + timedelta(hours=2)} if is_later else {}
        maker = Maker.of_key(self.key) if is_by_key else Maker.of_member(self.owner)
        made = {"business": self.business, "request": request, "maker": maker, "actor": STAFF}
        assert not batches.create(**made, now=now).is_replay
        assert batches.create(**made, now=self.tick()).is_replay
        checks.check_due(clock=self.tick)

    @rule(items=ITEMS, is_by_key=st.booleans(), as_far_as_balance=st.booleans(), needs_approval=st.booleans())
    def pay_many(
        self,
        items: list[tuple[int, str]],
        *,
        is_by_key: bool,
        as_far_as_balance: bool,
        needs_approval: bool,
    ) -> None:
        """The usual way of a batch, as far as settings, limits and the balance let it go."""
        if needs_approval:
            self.change_settings(self.owner, approval="always")
        self.make_a_batch(items, is_by_key=is_by_key, is_later=False)
        made = PayoutBatch.objects.latest("id")
        self.accept_and_approve(made, as_far_as_balance=as_far_as_balance)
        for user in (self.partner, self.checker):
            if self.of_state("awaiting_approval").filter(pk=made.pk).exists():
                self.approve_with(made.pk, user)
        self.send_batches(timedelta(0))

    @precondition(lambda self: self.of_state("needs_correction", "ready", "checking").exists())
    @rule(which=ANY, item=ANY, how=st.sampled_from(["correct", "remove", "accept"]))
    def correct_a_batch(self, which: int, item: int, how: str) -> None:
        batch = self.pick(self.of_state("needs_correction", "ready", "checking"), which)
        chosen = self.pick(batch.items.order_by("position"), item)
        more = {
            "correct": {"account_number": "0123456782", "user": self.checker},
            "remove": {},
            "accept": {"reason": "Known"},
        }
        act = getattr(corrections, how)
        self.refusable(lambda: act(chosen.pk, **more[how], actor=STAFF, now=self.tick()))
        checks.check_due(clock=self.tick)

    @precondition(lambda self: self.of_state("needs_correction", "ready").exists())
    @rule(which=ANY, as_far_as_balance=st.booleans())
    def approve_a_batch(self, which: int, *, as_far_as_balance: bool) -> None:
        batch = self.pick(self.of_state("needs_correction", "ready"), which)
        self.accept_and_approve(batch, as_far_as_balance=as_far_as_balance)

    def accept_and_approve(self, batch: PayoutBatch, *, as_far_as_balance: bool) -> None:
        """Accept what the checks found. Approval by members is asked for exactly if the settings want it."""
        items = self.unsent(batch)
        found = {item.reference: "Known" for item in items if item.needs_decision}
        needed = self.expected_approvals(batch, items)
        if self.refusable(
            lambda: batches.approve(
                batch.pk,
                actor=STAFF,
                now=self.tick(),
                accept=found,
                as_far_as_balance=as_far_as_balance,
            )
        ):
            batch.refresh_from_db()
            assert (batch.approval.needed if batch.approval else 0) == needed
            if needed:
                self.asked[batch.pk] = [(each.reference, each.amount, each.account_number) for each in items]

    def expected_approvals(self, batch: PayoutBatch, items: list[PayoutBatchItem]) -> int:
        controls, whole = self.controls(), sum(item.amount for item in items)
        is_wanted = controls.approval == "always" or (
            controls.approval == "above" and whole > controls.approval_above["NGN"]
        )
        is_by_key = batch.key_id is not None and all(item.corrected_by_id is None for item in items)
        is_wanted = is_wanted and (not is_by_key or controls.keys_need_approval)
        is_over = controls.ask_instead and any(item.state == "over_limit" for item in items)
        if not is_wanted and not is_over:
            return 0
        return 2 if whole > controls.two_approvals_above.get("NGN", whole) else 1

    @precondition(lambda self: self.of_state("awaiting_approval").exists())
    @rule(which=ANY, who=st.sampled_from(["owner", "partner", "partner", "checker", "checker", "viewer"]))
    def approve_as_member(self, which: int, who: str) -> None:
        self.approve_with(self.pick(self.of_state("awaiting_approval"), which).pk, getattr(self, who))

    def approve_with(self, batch_id: UUID, user: User) -> None:
        """Neither who made a batch or changed an account of it may approve it, nor anyone twice."""
        batch = self.of_state("awaiting_approval").get(pk=batch_id)
        may = (
            user not in {self.owner, self.viewer}
            and not batch.items.exclude(state="cancelled").filter(corrected_by=user).exists()
            and not batch.approval.grants.filter(user=user).exists()
            and batch.approval.expires_at > self.clock
            and self.controls().frozen_at is None
            and self.as_asked(batch)
        )
        accepted = self.refusable(
            lambda: batches.approve_as_member(batch.pk, user=user, actor=STAFF, now=self.tick())
        )
        assert accepted == may

    @precondition(lambda self: self.of_state("awaiting_approval").exists())
    @rule(which=ANY)
    def reject_a_batch(self, which: int) -> None:
        batch = self.pick(self.of_state("awaiting_approval"), which)
        batches.reject(batch.pk, reason="Wrong week", user=self.owner, actor=STAFF, now=self.tick())

    @precondition(lambda self: self.changeable())
    @rule(which=ANY, item=ANY)
    def change_a_batch_behind_its_approval(self, which: int, item: int) -> None:
        """Change an item's account after approval was asked for, as no code of ours does. Nothing of it is sent."""
        batch = self.changeable()[which % len(self.changeable())]
        chosen = self.pick(batch.items.unsent().order_by("position"), item)
        PayoutBatchItem.objects.filter(pk=chosen.pk).update(account_number="0123456783")

    def changeable(self) -> list[PayoutBatch]:
        asked = self.of_state("awaiting_approval", "scheduled", "processing").filter(approval__isnull=False)
        return [each for each in asked if not each.items.filter(state__in=["sent", "failed"]).exists()]

    def as_asked(self, batch: PayoutBatch) -> bool:
        items = [(each.reference, each.amount, each.account_number) for each in self.unsent(batch)]
        return items == self.asked[batch.pk]

    @precondition(lambda self: PayoutBatch.objects.exists())
    @rule(which=ANY)
    def cancel_a_batch(self, which: int) -> None:
        batch = self.pick(PayoutBatch.objects.order_by("id"), which)
        self.refusable(lambda: batches.cancel(batch.pk, actor=STAFF, now=self.tick()))

    @precondition(lambda self: PayoutBatch.objects.exists())
    @rule(which=ANY)
    def retry_a_batch(self, which: int) -> None:
        batch = self.pick(PayoutBatch.objects.order_by("id"), which)
        maker = Maker.of_member(self.owner)
        failed = set(batch.items.failed().filter(retried_as=None).values_list("amount", "account_number"))
        made: list[PayoutBatch] = []

        def act() -> None:
            made.append(batches.retry(batch.pk, maker=maker, actor=STAFF, now=self.tick()).resource)

        if self.refusable(act) and failed:
            assert set(made[0].items.values_list("amount", "account_number")) == failed
            checks.check_due(clock=self.tick)

    @rule(wait=st.sampled_from([timedelta(0), timedelta(minutes=1), timedelta(hours=3), timedelta(hours=25)]))
    def send_batches(self, wait: timedelta) -> None:
        """Send what is due. What waits for money for 24 hours fails."""
        self.clock += wait
        self.expire_approvals()
        unchanged = {each.pk for each in self.changeable() if self.as_asked(each)}
        changed = {each.pk for each in self.changeable()} - unchanged
        sending.send_due(clock=self.tick)
        assert not Transaction.objects.filter(batch_item__batch__in=changed).exists()

    def expire_approvals(self) -> None:
        waiting_payouts.expire_overdue(now=self.tick())

    @rule(wait=st.sampled_from([timedelta(hours=1), timedelta(hours=25)]))
    def apply_changes_of_settings(self, wait: timedelta) -> None:
        self.clock += wait
        payout_settings.apply_due(now=self.tick())

    def of_state(self, *states: str) -> "PayoutBatch.objects":
        return PayoutBatch.objects.filter(status__in=states).select_related("approval").order_by("id")

    def unsent(self, batch: PayoutBatch) -> list[PayoutBatchItem]:
        return list(batch.items.unsent().order_by("position"))

    def pick(self, rows: "PayoutBatch.objects", which: int) -> "PayoutBatch":
        chosen = list(rows)
        return chosen[which % len(chosen)]

    # Invariants after each step

    @invariant()
    def no_payout_is_over_a_limit_at_its_moment(self) -> None:
        """Nothing is above what staff allow. What is above a limit of the owners was approved, where they are asked."""
        controls, every = self.controls(), list(self.ordered())
        for place, payout in enumerate(every):
            if payout.pk in self.judged:
                continue
            self.judged.add(payout.pk)
            made = payout.amount, payout.account_number, every[:place]
            assert not self.is_over(controls.caps, *made, at=payout.created_at)
            if self.is_over(limits_of(controls), *made, at=payout.created_at):
                assert payout.response_code == "20051" or approval_of(payout) is not None

    @invariant()
    def what_was_sent_was_approved_as_it_is(self) -> None:
        for item in PayoutBatchItem.objects.filter(state="sent").select_related("payout", "batch__approval"):
            payout, batch = item.payout, item.batch
            sent = payout.reference, payout.amount, payout.account_number
            assert batch.pk not in self.asked or sent in self.asked[batch.pk]
            assert (batch.approval is not None) == (batch.pk in self.asked)
        for approval in PayoutApproval.objects.filter(state="approved").prefetch_related("grants"):
            granted = {each.user_id for each in approval.grants.all()}
            assert len(granted) >= approval.needed
            assert approval.maker_id not in granted
            assert self.viewer.pk not in granted

    @invariant()
    def each_batch_counts_its_items(self) -> None:
        for batch in PayoutBatch.objects.select_related("business"):
            items = list(batch.items.select_related("payout"))
            assert shown(batch).counts == Counter(item.status for item in items)
            assert sum(shown(batch).sums.values()) == sum(item.amount for item in items) == batch.amount


def limits_of(controls: PayoutControls) -> dict[str, object]:
    names = ("per_payout", "per_day", "per_beneficiary_and_day", "new_beneficiaries", "number_per_day")
    return {name: getattr(controls, name) for name in names}


def total(payouts: "list[Transaction]") -> int:
    return sum(each.amount for each in payouts)


def approval_of(payout: Transaction) -> PayoutApproval | None:
    item = PayoutBatchItem.objects.filter(payout=payout).select_related("batch__approval").first()
    own = PayoutApproval.objects.filter(transaction=payout).first()
    return own or (item.batch.approval if item else None)
