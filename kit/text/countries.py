"""The countries of ISO 3166-1, by their alpha-3 codes.

>>> "NGA" in ALPHA3, "XYZ" in ALPHA3, len(ALPHA3)
(True, False, 249)
"""

from iso3166 import countries

USER_ASSIGNED = "X"  # no country's code starts so; the library adds XKX, which ISO 3166-1 doesn't list

ALPHA3 = frozenset(each.alpha3 for each in countries if not each.alpha3.startswith(USER_ASSIGNED))
_ALPHA2 = {each.alpha3: each.alpha2 for each in countries if each.alpha3 in ALPHA3}


def alpha2(alpha3: str) -> str:
    """Return the alpha-2 code of a country, or "" if there is no such country.

    >>> alpha2("NGA"), alpha2("XYZ")
    ('NG', '')
    """
    return _ALPHA2.get(alpha3, "")
