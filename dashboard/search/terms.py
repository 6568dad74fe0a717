r"""Search terms, as bytes: those of an object, and those that a search text may mean.

The first byte says what a term is, and the rest is compared byte by byte, so the database's collation doesn't matter.
Case, marks of letters and apostrophes are ignored, and card numbers are masked in both.

>>> sorted(set(names("Ɗan Òbi")))
[b'ndan', b'nobi', b'wdan obi', b'wobi dan']
>>> list(names("Ada Grace Obi"))[-4:]
[b'wada grace obi', b'ograce obi ada', b'oada obi grace', b'oada grace obi']
>>> [(each.low, each.high) for each in lookups("Obi", currencies=["NGN"])][:3]
[(b'nobi', b'nobi\xff'), (b'robi', b'robi\xff'), (b'eobi', b'eobi\xff')]
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from itertools import permutations
from typing import Any

from kit.api.fields.strict_fields import Metadata
from kit.money.amount_input import InvalidAmount, minor_units
from kit.text.display_names import pasted
from kit.text.folding import fold
from kit.text.masking import has_card_number, mask_card_numbers

NAME, WHOLE_NAME, ANY_ORDER, REFERENCE, EMAIL = b"n", b"w", b"o", b"r", b"e"
TRACE, CODE, AMOUNT, METADATA = b"t", b"c", b"a", b"m"
LONGEST = 100  # bytes of a term; the rest of a text is ignored
MOST_WORDS = 6  # of a name; the rest is ignored
MOST_READINGS = 5  # ways to split a text with several equals signs
LONGEST_SEARCH = Metadata.LONGEST_KEY + 1 + Metadata.LONGEST_VALUE
AFTER_ALL = b"\xff"  # follows every byte of UTF-8
RRN_LENGTH, STAN_LENGTH = 12, 6

_WORD = re.compile(r"[^\W_]+")
_CODE = re.compile(r"[0-9A-Za-z]{3,20}")


@dataclass(frozen=True, slots=True)
class Lookup:
    """A range of terms: from `low`, and before `high`."""

    low: bytes
    high: bytes


def names(text: str) -> Iterator[bytes]:
    """Yield the terms of a person's or company's name, so that it is found by its words in any order.

    They are each word, pairs of the first three words and the last one, the whole, and each word after all others.
    """
    words = _words(text)[:MOST_WORDS]
    yield from (_term(NAME, word) for word in words)
    for pair in permutations(dict.fromkeys([*words[:3], *words[-1:]]), 2):
        yield _term(WHOLE_NAME, " ".join(pair))
    if len(words) > 1:
        yield _term(WHOLE_NAME, " ".join(words))
    if len(words) > 2:  # noqa: PLR2004
        for place, word in enumerate(words):
            yield _in_any_order([*words[:place], *words[place + 1 :], word])


def reference(text: str) -> Iterator[bytes]:
    yield from _unless_empty(REFERENCE, fold(text))


def email(text: str) -> Iterator[bytes]:
    yield from _unless_empty(EMAIL, fold(text))


def code(text: str) -> Iterator[bytes]:
    """Yield the term of what is only found in full: last four digits, authorisation codes and account numbers."""
    yield from _unless_empty(CODE, fold(text))


def trace(rrn: str) -> Iterator[bytes]:
    """Yield the term of an RRN, reversed. It ends with the STAN, so both are prefixes."""
    yield from _unless_empty(TRACE, rrn[::-1])


def amount(minor: int, currency: str) -> Iterator[bytes]:
    yield _term(AMOUNT, f"{currency}{minor}")


def metadata(entries: dict[str, Any] | None) -> Iterator[bytes]:
    """Yield the terms of a merchant's own keys and values. Only the whole pair is found, so a hash is enough."""
    for key, value in (entries or {}).items():
        yield _pair(key, str(value))


def lookups(text: str, *, currencies: Sequence[str]) -> list[Lookup]:
    """Return the ranges of terms that a search text may mean. Metadata is also looked up as it was entered."""
    entered, text = text, " ".join(pasted(text).split())
    folded = fold(text)
    words = [] if has_card_number(text) else _words(text)  # what is found is repeated in links
    found = [_prefix(NAME if len(words) == 1 else WHOLE_NAME, " ".join(words))] if words else []
    if len(words) > 2:  # noqa: PLR2004
        found.append(_beginning_with(_in_any_order(words)))
    found += [_prefix(REFERENCE, folded), _prefix(EMAIL, folded)] if folded else []
    if _CODE.fullmatch(text):
        found.append(_exact(_term(CODE, folded)))
    if text.isascii() and text.isdigit() and len(text) in {STAN_LENGTH, RRN_LENGTH}:
        found.append(_prefix(TRACE, text[::-1]))
    found += [
        _exact(term)
        for minor, currency in amounts(text, currencies=currencies)
        for term in amount(minor, currency)
    ]
    pairs = dict.fromkeys([*_pairs(text), *_pairs(entered)])
    return found + [_exact(_pair(key, value)) for key, value in pairs]


def lookups_with_amount(
    text: str, *, currencies: Sequence[str]
) -> Iterator[tuple[list[Lookup], list[Lookup]]]:
    """Yield the ways to read a text as an amount and something else, in any order: two lists of ranges.

    >>> [(one[0].low, other[0].low) for one, other in lookups_with_amount("obi 4,912", currencies=["NGN"])]
    [(b'aNGN491200', b'nobi')]
    """
    words = text.split()[:MOST_WORDS]
    for place in range(1, len(words)):
        head, tail = " ".join(words[:place]), " ".join(words[place:])
        for number, rest in ((tail, head), (head, tail)):
            exact = [
                _exact(term)
                for minor, currency in amounts(number, currencies=currencies)
                for term in amount(minor, currency)
            ]
            if exact:
                yield exact, lookups(rest, currencies=[])


def amounts(text: str, *, currencies: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield the amounts in minor units that a text may mean, with their currencies.

    >>> list(amounts("4912", currencies=["NGN", "JPY"])), list(amounts("NGN 4,912.00", currencies=["NGN"]))
    ([(491200, 'NGN'), (4912, 'JPY')], [(491200, 'NGN')])
    """
    for currency in currencies:
        with suppress(InvalidAmount):
            yield minor_units(text, currency), currency


def _pairs(text: str) -> list[tuple[str, str]]:
    """Return the possible keys and values of a text, written `key=value`. Both may contain equals signs.

    >>> _pairs("order=1042"), _pairs("note=a=b"), _pairs("1042"), _pairs("=1042")
    ([('order', '1042')], [('note', 'a=b'), ('note=a', 'b')], [], [])
    """
    places = [place for place, character in enumerate(text) if character == "="]
    found = [(text[:place], text[place + 1 :]) for place in places]
    return [pair for pair in found if 1 <= len(pair[0]) <= Metadata.LONGEST_KEY][:MOST_READINGS]


def _words(text: str) -> list[str]:
    return _WORD.findall(fold(text))


def _in_any_order(words: list[str]) -> bytes:
    """Return the term of words whose order doesn't matter, except for the last, which may be the beginning of one."""
    return _term(ANY_ORDER, " ".join([*sorted(words[:-1]), words[-1]]))


def _pair(key: str, value: str) -> bytes:
    pair = mask_card_numbers(f"{key}={value}").encode()
    return METADATA + blake2b(pair, digest_size=16).digest()


def _term(kind: bytes, text: str) -> bytes:
    return (kind + text.encode())[:LONGEST]


def _unless_empty(kind: bytes, text: str) -> Iterator[bytes]:
    if text:
        yield _term(kind, text)


def _prefix(kind: bytes, text: str) -> Lookup:
    return _beginning_with(_term(kind, text))


def _beginning_with(term: bytes) -> Lookup:
    return Lookup(term, term + AFTER_ALL)


def _exact(term: bytes) -> Lookup:
    return Lookup(term, term + b"\x00")
