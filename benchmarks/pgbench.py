"""pgbench as a yardstick, with scripts that write the same rows as a booking."""

import subprocess
from collections.abc import Sequence
from tempfile import NamedTemporaryFile
from uuid import UUID

from psycopg import Connection

HASH = "'\\x" + "ab" * 32 + "'::bytea"  # pgbench creates none
LEGS = {"pending": 985, "receivable": -1000, "fees": 15}

_MOVED = "\n".join(
    f"UPDATE ledger_account SET balance = balance + {amount}, sequence = sequence + 1, hash = {HASH} "
    f"WHERE id = :{account} RETURNING sequence AS {account}_sequence, balance AS {account}_balance \\gset"
    for account, amount in LEGS.items()
)
_POSTINGS = ", ".join(
    f"(:entry, :{account}, {amount}, :{account}_sequence, :{account}_balance, {HASH}, {HASH})"
    for account, amount in LEGS.items()
)
BOOKING = f"""
INSERT INTO ledger_entry (kind, cause, business_id, currency, note, at)
  VALUES ('card', gen_random_uuid(), ':business', 'NGN', '', now()) RETURNING id AS entry \\gset
{_MOVED}
INSERT INTO ledger_posting (entry_id, account_id, amount, sequence, balance_after, previous_hash, hash)
  VALUES {_POSTINGS};
"""
"""Return the statements of one booking: three account updates, an entry and three postings."""


def choosing(connection: Connection, businesses: Sequence[UUID]) -> str:
    """Return the statements that choose one of these businesses with its accounts from a table."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS bench (id int PRIMARY KEY, business uuid, receivable int, pending int, fees int)"
    )
    connection.execute("TRUNCATE bench")
    connection.execute(
        "INSERT INTO bench SELECT row_number() OVER (), business_id, min(id) FILTER (WHERE kind = "
        "'acquirer_receivable'), min(id) FILTER (WHERE kind = 'pending_settlement'), min(id) FILTER (WHERE kind "
        "= 'fees') FROM ledger_account WHERE business_id = ANY(%s) AND currency = 'NGN' GROUP BY business_id",
        [list(businesses)],
    )
    connection.execute("ANALYZE bench")
    return f"""
\\set one random(1, {len(businesses)})
SELECT business, receivable, pending, fees FROM bench WHERE id = :one \\gset
"""


def pgbench_rate(url: str, script: str, *, clients: int, seconds: int, prepared: bool = False) -> float:
    """Run the script in a closed loop, with prepared statements or not; return its transactions per second."""
    with NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(script)
        file.flush()
        protocol = "prepared" if prepared else "simple"
        command = ["pgbench", "-n", "-M", protocol, "-c", str(clients), "-j", "2", "-T", str(seconds)]
        command += ["-f", file.name, url]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])
