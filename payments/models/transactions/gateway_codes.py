"""The columns of a gateway's code.

`gateway_code` was made for codes of up to three characters. Providers have longer ones, and a column can't be widened
while two releases use it (decision 0007). So a longer code is stored in `long_gateway_code`, and the other is empty.
"""

LONGEST = 8
LONGEST_OF_FIRST_COLUMN = 3


def columns_of(code: str) -> tuple[str, str]:
    """Return `gateway_code` and `long_gateway_code` of a code.

    >>> columns_of("51"), columns_of("20051")
    (('51', ''), ('', '20051'))
    """
    return (code, "") if len(code) <= LONGEST_OF_FIRST_COLUMN else ("", code[:LONGEST])
