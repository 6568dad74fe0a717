"""A bank that answers in 200 ms, and a process that sends a batch to it."""

import time

from payments import rails
from payments.rails.protocol import PayoutOrder, RailAnswer
from payments.rails.sandbox import SandboxBank
from payout_batches.models import PayoutBatch
from payout_batches.services import sending

SECONDS = 0.2
NAME = "benchmarks.slow_bank.SlowBank"


class SlowBank(SandboxBank):
    """The sandbox's bank, with the time that a bank takes."""

    def send(self, order: PayoutOrder) -> RailAnswer:
        time.sleep(SECONDS)
        return super().send(order)

    def account_name(self, *, account_number: str, nip_code: str, given_name: str = "") -> str | None:
        time.sleep(SECONDS)
        return super().account_name(account_number=account_number, nip_code=nip_code, given_name=given_name)


def send_all() -> None:
    """Send what is released until each batch has ended."""
    rails.BANKS["sandbox"] = NAME
    while PayoutBatch.objects.filter(finished_at__isnull=True, released_at__isnull=False).exists():
        sending.send_due()


if __name__ == "__main__":
    send_all()
