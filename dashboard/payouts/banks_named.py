"""Banks that a search names.

>>> [bank.code for bank in banks_named("trust guaranty")], [bank.code for bank in banks_named("000013")]
(['058'], ['058'])
"""

from kit import banks
from kit.text.folding import fold


def banks_named(text: str) -> list[banks.Bank]:
    """Return the banks with all words of a text in their names, or the one with this code."""
    words, coded = fold(text).split(), banks.find(text)
    found = [bank for bank in banks.all_banks() if words and all(word in fold(bank.name) for word in words)]
    return [coded] if coded else found
