"""Loaded by the workers of these tests: leases that end soon after the exchange they cover.

In no other process: the tests of the dispatcher rely on its own margin.
"""

import sys

from webhooks import dispatcher

LEASE_MARGIN = 2.0
TIMEOUT = 1  # seconds for one exchange, so that leases of killed workers end soon
LEASE = TIMEOUT + LEASE_MARGIN

if "celery" in sys.argv[0]:
    dispatcher.LEASE_MARGIN = LEASE_MARGIN
