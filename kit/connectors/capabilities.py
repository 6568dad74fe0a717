"""What a connector can do at all. Requests for anything else are refused before anything is stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from kit.money.money import money


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """The currencies and amounts that a connector accepts. Amounts in minor units.

    By default it accepts every currency and amount that the API accepts.
    """

    currencies: frozenset[str] | None = None
    minimum_amount: Mapping[str, int] = field(default_factory=dict)  # by currency
    maximum_amount: int | None = None
    amount_multiple_of: Mapping[str, int] = field(default_factory=dict)  # by currency

    def accepts(self, currency: str) -> bool:
        """Return whether the connector has a currency."""
        return self.currencies is None or currency in self.currencies

    def multiple_in(self, currency: str) -> int:
        """Return the number of minor units that every amount in a currency is a multiple of."""
        return self.amount_multiple_of.get(currency, 1)

    def unsupported(self, currency: str, amount: int | None = None) -> dict[str, str]:
        """Return why the connector can't take a currency or an amount in it, by field. Empty if it can.

        >>> cards = Capabilities(currencies=frozenset({"NGN"}), minimum_amount={"NGN": 5_000})
        >>> cards.unsupported("NGN", 4_999)
        {'amount': 'The smallest amount that can be processed is NGN 50.00 (5000).'}
        >>> cards.unsupported("USD", 4_999), cards.unsupported("NGN", 5_000)
        ({'currency': "Payments in USD can't be processed here."}, {})
        """
        if not self.accepts(currency):
            return {"currency": f"Payments in {currency} can't be processed here."}
        why = "" if amount is None else self._why_not(amount, currency)
        return {"amount": why} if why else {}

    def _why_not(self, amount: int, currency: str) -> str:
        smallest = self.minimum_amount.get(currency, 0)
        if amount < smallest:
            return f"The smallest amount that can be processed is {money(smallest, currency)} ({smallest})."
        if self.maximum_amount is not None and amount > self.maximum_amount:
            largest = self.maximum_amount
            return f"The largest amount that can be processed is {money(largest, currency)} ({largest})."
        return self.why_no_multiple(amount, currency)

    def why_no_multiple(self, amount: int, currency: str) -> str:
        """Return why an amount, also of a capture or refund, is no multiple that the connector takes. Empty if it is one."""
        multiple = self.multiple_in(currency)
        return f"Amounts in {currency} must be multiples of {multiple}." if amount % multiple else ""
