"""Connectors that misbehave. Settings name them like any other."""

from typing import NoReturn

from django.db import OperationalError

from payments.cards import Card


class TalkativeAcquirer:
    """Falls over, and tells the card in its exception: what a careless connector would do."""

    def authorise(self, _order: object, *, card: Card, **_: object) -> NoReturn:
        number, cvv = card.secret.reveal_number(), card.secret.reveal_cvv()
        raise RuntimeError(f"No route for pan={number} cvv={cvv}")

    verify = authorise


class AcquirerWithoutDatabase:
    """Its database goes away while it is asked."""

    def authorise(self, _order: object, **_: object) -> NoReturn:
        raise OperationalError("connection to server was lost: 10.0.0.7")

    verify = authorise
