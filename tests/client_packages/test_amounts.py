"""Amounts of the command-line tool have as many decimals as the service's."""

from kit.api.fields.strict_fields import CURRENCIES
from kit.money.money import money
from sluice.cli.output import money as shown


def test_every_currency_has_its_decimals():
    assert {each: shown(123_456, each) for each in CURRENCIES} == {
        each: money(123_456, each) for each in CURRENCIES
    }
