"""Amounts of the command-line tool have as many decimals as the service's."""

from sluice.cli.output import money as shown

from kit.api.fields.strict_fields import CURRENCIES
from kit.money.money import money


def test_every_currency_has_its_decimals():
    assert {each: shown(123_456, each) for each in CURRENCIES} == {
        each: money(123_456, each) for each in CURRENCIES
    }
