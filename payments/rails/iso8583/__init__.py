"""A card acquirer that speaks ISO 8583:1987 over TCP. Settings name `Iso8583Acquirer`."""

from payments.rails.iso8583.acquirer import Iso8583Acquirer

__all__ = ["Iso8583Acquirer"]
