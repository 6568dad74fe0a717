"""A process that is suspended between its intent and its authorisation: python -m tests.with_django … BUSINESS REFERENCE"""

import os
import signal
import sys
from typing import Any

from kit.db import clock
from merchants.models import Business
from payments.rails.iso8583 import Iso8583Acquirer
from tests import orders
from tests.transactions import captured_payment


def main(business: str, reference: str) -> None:
    authorise = Iso8583Acquirer.authorise

    def stop_and_authorise(*arguments: Any, **rest: Any) -> Any:
        os.kill(os.getpid(), signal.SIGSTOP)
        return authorise(*arguments, **rest)

    Iso8583Acquirer.authorise = stop_and_authorise
    paid = captured_payment(
        business=Business.objects.get(pk=business),
        now=clock.now(),
        reference=reference,
        source=orders.card_source(),
    )
    print(paid.status, paid.awaiting)


if __name__ == "__main__":
    main(*sys.argv[1:])
