r"""NUBAN: Nigeria's ten-digit account numbers, a nine-digit serial and a check digit.

The check digit is ten less the last digit of the weighted sum of the bank code and the serial, with the repeated
weights 3, 7, 3. The rule of 2010 has bank codes of three digits. The revision of 2020 has codes of six digits: three
zeros before the code of a deposit money bank, a 9 before the five digits of any other institution. Zeros don't change
the sum, so both rules agree for banks.

>>> account_number("011", 1457), account_number("011", 22)
('0000014579', '0000000220')
>>> [is_valid(bank_code, number) for bank_code, number in (
...     ("058", "0123456785"), ("044", "1234567895"), ("057", "2000000015"), ("033", "1000000007"),
...     ("035", "0000000011"), ("232", "9876543212"), ("50211", "2000000013"), ("50515", "5000000013"),
...     ("044", "0010246780"))]
[True, True, True, True, True, True, True, True, True]
>>> is_valid("058", "0123456786"), is_valid("058", "12345"), is_valid("058", "\u0660123456785")
(False, False, False)
"""

from itertools import cycle

from kit import banks

WEIGHTS = (3, 7, 3)
SERIALS = 10**9  # serials have nine digits


def institution_code(bank_code: str) -> str:
    """Return the six-digit code of a bank or other institution for the check digit.

    >>> institution_code("058"), institution_code("50211"), institution_code("000013")
    ('000058', '950211', '000013')

    :raises ValueError: a bank code has three, five or six digits
    """
    if not banks.CODE.fullmatch(bank_code):
        raise ValueError("A bank code has three, five or six digits.")
    return {3: f"000{bank_code}", 5: f"9{bank_code}", 6: bank_code}[len(bank_code)]


def check_digit(bank_code: str, serial: str) -> str:
    """Return the tenth digit of the account with this nine-digit serial."""
    digits = institution_code(bank_code) + serial
    total = sum(int(digit) * weight for digit, weight in zip(digits, cycle(WEIGHTS), strict=False))
    return str(-total % 10)


def account_number(bank_code: str, serial: int) -> str:
    """Return the account number with this serial, 0 to 999,999,999.

    :raises ValueError: the serial has more than nine digits
    """
    if not 0 <= serial < SERIALS:
        raise ValueError("A serial has nine digits.")
    digits = f"{serial:09}"
    return digits + check_digit(bank_code, digits)


def is_valid(bank_code: str, number: str) -> bool:
    """Return whether a number is a valid account number of a bank."""
    return bool(banks.ACCOUNT_NUMBER.fullmatch(number)) and check_digit(bank_code, number[:9]) == number[9]
