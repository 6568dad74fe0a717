"""Short leases for the workers of these tests. They expire soon after the request that they cover.

Loaded in no other process, because the tests of the dispatcher rely on its own margin.
"""

import sys

from webhooks import dispatcher

LEASE_MARGIN = 2.0
TIMEOUT = 1  # seconds for one exchange, so that leases of killed workers end soon
LEASE = TIMEOUT + LEASE_MARGIN

if "celery" in sys.argv[0]:
    dispatcher.LEASE_MARGIN = LEASE_MARGIN
