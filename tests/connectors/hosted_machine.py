"""Random payers on a provider's page under random faults: in the end, what failed is not charged, and what succeeded is once."""

from random import Random
from typing import Any, ClassVar

from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, Challenge, Transaction

STEPS = 14


class HostedPlay:
    """One example: what a payer, the merchant, the provider and time do, in a random order.

    A provider's own class says which calls fail and how, what a payer enters, and how time passes.
    """

    CALLS: ClassVar[list[str]]
    FAULTS: ClassVar[list[str]]
    CARDS: ClassVar[list[Any]]
    WAITS: ClassVar[list[int]]
    LAST_WAITS: ClassVar[list[int]]

    def __init__(self, shop: Any, chance: Random) -> None:
        self.shop, self.chance = shop, chance
        self.pages: list[Challenge] = []
        self.refunds = 0

    def run(self) -> None:
        moves = [
            self.begin,
            self.enter,
            self.enter,
            self.come_back,
            self.end,
            self.refund,
            self.fail,
            self.wait,
        ]
        for _ in range(STEPS):
            self.chance.choice(moves)()
        self.repair()
        for each in self.LAST_WAITS:
            self.let_pass(each)
        self.assert_books_agree()

    def begin(self) -> None:
        attempts = Transaction.objects.count()
        answer = self.shop.payer.post(f"{self.shop.checkout}/card", {"attempt": str(attempts)})
        assert answer.status_code in {303, 503}, answer.content
        challenge = getattr(self.shop.payment, "challenge", None) if self.shop.payment else None
        if challenge is not None:
            self.pages.append(challenge)

    def enter(self) -> None:
        """Pay at any page that was shown, however old it is."""
        if self.pages:
            self.shop.enter(self.address_of(self.chance.choice(self.pages)), self.chance.choice(self.CARDS))

    def come_back(self) -> None:
        if self.pages:
            token = self.chance.choice(self.pages).token
            assert self.shop.payer.get(f"/3ds/{token}/return").status_code in {200, 303}

    def end(self) -> None:
        assert self.shop.payer.end(self.shop.checkout).status_code == 303

    def refund(self) -> None:
        self.refunds += 1
        body = {"reference": f"refund-{self.refunds}", "amount": self.chance.choice([1, 10_000, 20_000])}
        for payment in Transaction.objects.filter(status="success"):
            answer = self.shop.api.post(f"/api/payments/{payment.reference}/refunds", body)
            assert answer.status_code in {201, 400, 409, 503}, answer.content

    def fail(self) -> None:
        self.plan(f"{self.chance.choice(self.CALLS)}: {self.chance.choice(self.FAULTS)}")

    def wait(self) -> None:
        self.let_pass(self.chance.choice(self.WAITS))

    def assert_books_agree(self) -> None:
        for payment in Transaction.objects.all():
            expected = payment.amount - payment.amount_refunded if payment.status == "success" else 0
            assert payment.status != "pending"
            assert self.kept(payment) == expected, (payment.reference, payment.status)
        assert not CardOperation.objects.filter(status="pending").exists()
        assert [one.broken for one in check(INVARIANTS) if not one.holds] == []

    def address_of(self, page: Challenge) -> str:
        return page.url

    def plan(self, words: str) -> None:
        """Have the provider's next such call fail."""
        raise NotImplementedError

    def repair(self) -> None:
        """Have no further call fail."""
        raise NotImplementedError

    def let_pass(self, time: int) -> None:
        """Let time pass, in the provider's own unit, and do what is due then."""
        raise NotImplementedError

    def kept(self, payment: Transaction) -> int:
        """Return what the provider has charged or reserved for a payment, and not given back."""
        raise NotImplementedError


def is_anything_unknown() -> bool:
    """Return whether a query could change anything. Building the queries costs more than most steps do."""
    return Transaction.objects.unanswered().exists() or CardOperation.objects.unanswered().exists()
