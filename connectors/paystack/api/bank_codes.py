"""Paystack's own codes of banks, by our NIP and CBN codes.

Paystack's code of a commercial bank is its CBN code. Others have five or six digits, or letters, so the codes are read
from Paystack's list.
"""

import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import structlog

from connectors.paystack.api.client import PaystackClient, Refused
from kit import banks
from kit.connectors.provider_client import Deadline
from kit.text.display_names import identifier_text
from payments.rails.protocol import AnswerLost

log = structlog.get_logger("sluice.paystack")

PAGE = 100  # banks
MOST_PAGES = 20
KEPT_FOR = 24 * 3600.0  # seconds
RETRIED_AFTER = 300.0  # seconds, if the list couldn't be read again
NIP_MEMBERS = ("nip_sort_code", "nip_code")  # the published document doesn't say which
COMMERCIAL = 3  # digits of a CBN code


@dataclass(frozen=True, slots=True)
class BankCodes:
    """Paystack's codes of active banks, by NIP code, and all of them."""

    by_nip_code: dict[str, str] = field(default_factory=dict)
    all: frozenset[str] = frozenset()
    numbers: dict[str, str] = field(default_factory=dict)  # the ids of their entries, by code

    def find(self, nip_code: str) -> str:
        """Return Paystack's code of one of our banks, or an empty string."""
        bank = banks.find(nip_code)
        cbn_code = bank.code if bank else ""
        return self.by_nip_code.get(nip_code) or (cbn_code if cbn_code in self.all else "")

    def missing(self) -> list[str]:
        """Return the names of our banks that Paystack doesn't have."""
        return [bank.name for bank in banks.all_banks() if not self.find(bank.nip_code)]


class BankList:
    """Paystack's list of banks, read at first use and again each day. The last good one is kept."""

    def __init__(self, client: PaystackClient) -> None:
        self._client = client
        self._lock = threading.Lock()
        self._codes: BankCodes | None = None
        self._next_read = 0.0

    def find(self, nip_code: str, *, until: Deadline) -> str:
        """Return Paystack's code of one of our banks, or an empty string if it doesn't have it.

        :raises AnswerLost: the list was never read, and can't be read now
        """
        known = self._codes
        if known is None or time.monotonic() >= self._next_read:
            known = self._current(until)
        return known.find(nip_code)

    def _current(self, until: Deadline) -> BankCodes:
        """Return the list as read now. While another thread reads it again, the last one is used."""
        known = self._codes
        if not self._lock.acquire(timeout=until.left if known is None else 0):
            if known is None:
                raise AnswerLost
            return known
        try:
            if self._codes is None or time.monotonic() >= self._next_read:
                self._codes = self._read_again(until)
            return self._codes
        finally:
            self._lock.release()

    def _read_again(self, until: Deadline) -> BankCodes:
        try:
            codes = read(self._client, until=until)
        except AnswerLost:
            if self._codes is None:
                raise
            log.warning("the list of banks couldn't be read again")
            self._next_read = time.monotonic() + RETRIED_AFTER
            return self._codes
        self._next_read = time.monotonic() + KEPT_FOR
        return codes


def read(client: PaystackClient, *, until: Deadline) -> BankCodes:
    """Read Paystack's list of banks.

    :raises AnswerLost: a page wasn't answered or isn't readable, or none has a bank
    """
    usable = [bank for bank in _pages(client, until) if _is_usable(bank)]
    if not usable:
        raise AnswerLost
    by_nip_code: dict[str, str] = {}
    # Of two entries with one NIP code, the commercial bank's is the right one, so it is written last.
    for bank in sorted(usable, key=lambda bank: len(bank["code"]) == COMMERCIAL):
        if nip_code := next((bank[name] for name in NIP_MEMBERS if bank.get(name)), ""):
            by_nip_code[identifier_text(nip_code, length=20)] = bank["code"]
    numbers = {bank["code"]: identifier_text(bank.get("id"), length=20) for bank in usable}
    return BankCodes(by_nip_code, frozenset(numbers), numbers)


def _pages(client: PaystackClient, until: Deadline) -> Iterator[Any]:
    query = {"currency": "NGN", "perPage": str(PAGE), "use_cursor": "true", "include_nip_sort_code": "true"}
    for _ in range(MOST_PAGES):
        try:
            answer = client.get("/bank", query=query, until=until)
        except Refused:
            raise AnswerLost from None
        following = answer.meta.get("next") if isinstance(answer.meta, dict) else None
        if not isinstance(answer.data, list) or not isinstance(following, str | None):
            raise AnswerLost  # payouts to a bank that isn't listed fail, so a part of the list won't do
        yield from answer.data
        if not following or following == "null":
            return
        query["next"] = following
    raise AnswerLost  # the list has no end


def _is_usable(bank: Any) -> bool:
    """Return whether an entry of the list is a bank that transfers reach."""
    if not isinstance(bank, dict) or not isinstance(bank.get("code"), str):
        return False
    return bool(bank["code"]) and bank.get("active") is not False and not bank.get("is_deleted")
