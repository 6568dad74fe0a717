"""Amounts formatted for people, with the decimals of their currency. The only place that divides minor units."""

from decimal import Decimal

from iso4217 import Currency

MINUS = "\u2212"
UNITS = ((Decimal(10**9), "bn"), (Decimal(10**6), "m"), (Decimal(10**3), "k"))
DIGITS = 3  # of an approximate amount
USUAL_DECIMALS = 2  # default if ISO 4217 does not define it


def money(minor_units: int, currency: str) -> str:
    """Format minor units with their currency.

    >>> money(123_456, "NGN"), money(5, "USD"), money(1_500, "JPY"), money(1_500, "KWD")
    ('NGN 1,234.56', 'USD 0.05', 'JPY 1,500', 'KWD 1.500')
    >>> money(-5, "NGN") == MINUS + "NGN 0.05"
    True
    """
    sign = MINUS if minor_units < 0 else ""
    return f"{sign}{currency} {_major(abs(minor_units), currency, separator=',')}"


def figures(minor_units: int, currency: str) -> str:
    """Format minor units without their currency, for columns whose head names it.

    >>> figures(123_456, "NGN"), figures(1_500, "JPY")
    ('1,234.56', '1,500')
    """
    sign = MINUS if minor_units < 0 else ""
    return f"{sign}{_major(abs(minor_units), currency, separator=',')}"


def signed_money(minor_units: int, currency: str) -> str:
    r"""Format minor units with their currency and a plus or minus sign; zero has no sign.

    >>> signed_money(5, "NGN"), signed_money(-123_456, "NGN"), signed_money(0, "NGN")
    ('+NGN 0.05', '\u2212NGN 1,234.56', 'NGN 0.00')
    """
    return f"{'+' if minor_units > 0 else ''}{money(minor_units, currency)}"


def written(minor_units: int, currency: str) -> str:
    """Format minor units for a form field, without currency and separators.

    >>> written(250_050, "NGN"), written(-5, "NGN"), written(1_500, "JPY"), written(1_500, "KWD")
    ('2500.50', '-0.05', '1500', '1.500')
    """
    sign = "-" if minor_units < 0 else ""
    return f"{sign}{_major(abs(minor_units), currency, separator='')}"


def decimal_amount(minor_units: int, currency: str) -> Decimal:
    """Return minor units as a number in major units, exactly.

    >>> decimal_amount(250_050, "NGN"), decimal_amount(-5, "NGN"), decimal_amount(1_500, "JPY")
    (Decimal('2500.50'), Decimal('-0.05'), Decimal('1500'))
    """
    return Decimal(written(minor_units, currency))


def compact(minor_units: int, currency: str) -> str:
    """Format a round amount for the axis of a chart, without its currency.

    >>> compact(120_000_000, "NGN"), compact(25_000, "NGN"), compact(100, "NGN"), compact(1_250_000, "JPY")
    ('1.2m', '250', '1', '1.25m')
    """
    major = decimal_amount(minor_units, currency)
    unit, sign = next((each for each in UNITS if major >= each[0]), (Decimal(1), ""))
    return f"{(major / unit).normalize():f}{sign}"


def approximate(minor_units: int, currency: str) -> str:
    """Format an amount with three digits and without its currency, for a calendar.

    >>> approximate(85_012_345, "NGN"), approximate(105_960_000, "NGN"), approximate(12_345, "NGN")
    ('850k', '1.06m', '123')
    """
    unit = 10 ** max(len(str(minor_units)) - DIGITS, 0)
    return compact((minor_units + unit // 2) // unit * unit, currency)


def decimals_of(currency: str) -> int:
    """Return how many decimals a currency has.

    >>> decimals_of("NGN"), decimals_of("JPY"), decimals_of("KWD")
    (2, 0, 3)
    """
    exponent = Currency(currency).exponent
    return USUAL_DECIMALS if exponent is None else int(exponent)


def has_minor_unit(currency: str) -> bool:
    """Return whether amounts in a currency can be counted in minor units. Gold (XAU) has none.

    >>> has_minor_unit("JPY"), has_minor_unit("XAU"), has_minor_unit("nonsense")
    (True, False, False)
    """
    try:
        return Currency(currency).exponent is not None
    except ValueError:
        return False


def _major(minor_units: int, currency: str, *, separator: str) -> str:
    decimals = decimals_of(currency)
    major, minor = divmod(minor_units, 10**decimals)
    whole = f"{major:{separator}}"
    return f"{whole}.{minor:0{decimals}}" if decimals else whole
