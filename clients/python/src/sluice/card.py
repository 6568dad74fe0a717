"""Cards whose text is masked."""

from __future__ import annotations

from typing import Any


class Card(dict[str, Any]):
    """A card for the argument `source`. Its text shows the last four digits only, and it can't be pickled.

    >>> Card(pan="4084084084084081", name="Ada Obi", expiry_month="12", expiry_year="2035", cvv="408")
    Card(**** 4081)
    """

    def __init__(
        self,
        *,
        pan: str,
        name: str,
        expiry_month: str,
        expiry_year: str,
        cvv: str,
        billing_address: dict[str, Any] | None = None,
    ) -> None:
        super().__init__(
            type="card",
            pan=pan,
            name=name,
            expiry_month=expiry_month,
            expiry_year=expiry_year,
            cvv=cvv,
        )
        if billing_address is not None:
            self["billing_address"] = billing_address

    def __repr__(self) -> str:
        return f"Card(**** {str(self.get('pan', ''))[-4:]})"

    def __reduce_ex__(self, _protocol: Any) -> Any:
        raise TypeError("A card can't be pickled or copied.")


class Body(bytes):
    """The bytes of a request, which may hold a card. Its text is masked, also among the variables of a traceback."""

    def __repr__(self) -> str:
        return f"<{len(self)} bytes>"

    __str__ = __repr__
