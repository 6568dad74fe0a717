"""A process that is suspended between its intent and its authorisation: python -m … BUSINESS REFERENCE"""

import os
import signal
import sys
from typing import Any


def main(business: str, reference: str) -> None:
    import django  # noqa: PLC0415  (only as a program)

    django.setup()
    from kit.db import clock  # noqa: PLC0415
    from merchants.models import Business  # noqa: PLC0415
    from payments.rails.iso8583 import Iso8583Acquirer  # noqa: PLC0415
    from tests import orders  # noqa: PLC0415
    from tests.transactions import captured_payment  # noqa: PLC0415

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
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    main(*sys.argv[1:])
