"""The countries of ISO 3166-1, by their alpha-3 codes.

>>> "NGA" in ALPHA3, "XYZ" in ALPHA3, len(ALPHA3)
(True, False, 249)
"""

from iso3166 import countries

USER_ASSIGNED = "X"  # no country's code starts so; the library adds XKX, which ISO 3166-1 doesn't list

ALPHA3 = frozenset(each.alpha3 for each in countries if not each.alpha3.startswith(USER_ASSIGNED))
