"""Short leases for the workers of these tests.

Loaded in no other process, because the tests of the dispatcher rely on its own lease.
"""

import sys
from datetime import timedelta

from webhooks.sending import dispatcher

LEASE = 3.0  # seconds
TIMEOUT = 1  # seconds for one exchange

if "celery" in sys.argv[0]:
    from payout_batches.services import sending

    dispatcher.LEASE = timedelta(seconds=LEASE)
    dispatcher.RENEW_EVERY = 1.0
    sending.LEASE = timedelta(seconds=LEASE)
