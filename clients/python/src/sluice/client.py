"""The client: one object with a group of methods for each part of the API."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sluice import credentials
from sluice.caller import Caller
from sluice.resources import (
    Balance,
    Banks,
    Beneficiaries,
    Capabilities,
    CardChecks,
    Disputes,
    Events,
    PaymentLinks,
    Payments,
    PayoutBatches,
    Payouts,
    Refunds,
    Requests,
    Sandbox,
    Settlements,
    UnappliedTransfers,
    VirtualAccounts,
    WebhookEndpoints,
)
from sluice.transport import HttpTransport, Transport
from sluice.version import __version__


class Sluice:
    """A client for one service and key pair. May be used by several threads; use it as a context manager, or close it.

    Timeouts are in seconds and for each read; a call with all its retries ends by `connect_timeout + read_timeout + 60`.
    After a failure, GETs and everything that its reference makes repeatable are repeated `retries` times with the same
    bytes. With `correct_clock`, a difference between this machine's clock and the service's is learnt and logged.
    `transport` replaces HTTP. `proxy` and `ca_file` are used instead of variables of the environment, which are not read.
    """

    def __init__(
        self,
        base_url: str,
        api_key: str,
        secret_key: str,
        *,
        connect_timeout: float = 5,
        read_timeout: float = 65,
        retries: int = 2,
        correct_clock: bool = True,
        insecure_http: bool = False,
        proxy: str | None = None,
        ca_file: str | None = None,
        transport: Transport | None = None,
    ) -> None:
        for name, key in {"API key": api_key, "secret key": secret_key}.items():
            if not key.isascii() or not key.isprintable() or not key or " " in key:
                raise ValueError(f"The {name} is empty, or has blanks or other characters that no key has.")
        self.base_url = base_url.rstrip("/")
        self._api_key = api_key
        self._http = None
        if transport is None:
            transport = self._http = HttpTransport(
                self.base_url,
                connect_timeout=connect_timeout,
                read_timeout=read_timeout,
                insecure_http=insecure_http,
                proxy=proxy,
                ca_file=ca_file,
            )
        self._caller = Caller(
            api_key=api_key,
            secret_key=secret_key,
            transport=transport,
            retries=retries,
            correct_clock=correct_clock,
            user_agent=f"sluice-python/{__version__}",
        )
        self.payments = Payments(self._caller)
        self.payouts = Payouts(self._caller)
        self.card_checks = CardChecks(self._caller)
        self.refunds = Refunds(self._caller)
        self.virtual_accounts = VirtualAccounts(self._caller)
        self.banks = Banks(self._caller)
        self.capabilities = Capabilities(self._caller)
        self.balance = Balance(self._caller)
        self.settlements = Settlements(self._caller)
        self.unapplied_transfers = UnappliedTransfers(self._caller)
        self.payout_batches = PayoutBatches(self._caller)
        self.beneficiaries = Beneficiaries(self._caller)
        self.disputes = Disputes(self._caller)
        self.payment_links = PaymentLinks(self._caller)
        self.events = Events(self._caller)
        self.webhook_endpoints = WebhookEndpoints(self._caller)
        self.requests = Requests(self._caller)
        self.sandbox = Sandbox(self._caller)

    @classmethod
    def from_env(cls, **options: Any) -> Sluice:
        """Return a client of SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY.

        :raises NoCredentials: a variable is missing, or all of them are
        """
        return cls._of(credentials.from_environment(), options)

    @classmethod
    def from_profile(cls, name: str, **options: Any) -> Sluice:
        """Return a client of a profile that `sluice login` stored.

        :raises NoCredentials: there is none, or others can read the file
        """
        return cls._of(credentials.from_profile(name), options)

    @classmethod
    def from_sandbox(cls, folder: str | Path | None = None, **options: Any) -> Sluice:
        """Return a client of a sandbox's demo business, by default of the sandbox that was started last.

        :raises NoCredentials: there is no sandbox
        """
        return cls._of(credentials.from_sandbox(Path(folder) if folder else None), options)

    @classmethod
    def _of(cls, found: credentials.Credentials, options: dict[str, Any]) -> Sluice:
        return cls(found.base_url, found.api_key, found.secret_key, **options)

    def call(
        self, method: str, path: str, query: dict[str, Any] | None = None, body: dict[str, Any] | None = None
    ) -> Any:
        """Make a signed call that this version has no method for, and return the JSON of the answer.

        A path may have a query, which is sent as it is; blanks and what is not ASCII are percent-encoded.
        """
        return self._caller.call(method, path, query=query, body=body).document

    def close(self) -> None:
        """Close the idle connections."""
        if self._http is not None:
            self._http.close()

    def __enter__(self) -> Sluice:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Sluice({self.base_url!r}, {self._api_key!r}, ***)"

    def __reduce__(self) -> Any:
        raise TypeError("A client holds a secret key and can't be pickled.")
