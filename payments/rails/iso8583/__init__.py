"""The connector of a card acquirer that uses ISO 8583:1987 over TCP."""

from payments.rails.iso8583.acquirer import Iso8583Acquirer

__all__ = ["Iso8583Acquirer"]
