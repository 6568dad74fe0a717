"""Search of the documentation by SQLite's full-text index, in memory: no database, no script, no other host.

An exact name comes first (`duplicate_reference`, `20051`, `/api/payments`, `payment_method_id`), then a sentence that was
pasted, then titles, then texts.
"""

import re
import sqlite3
import unicodedata
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from itertools import combinations

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from developer_site.search.search_index import entries
from payments.sandbox.scenario_steps import without_real_cards

LONGEST_QUERY = 100  # characters; more are ignored
MOST_TERMS = 8
MOST_RESULTS = 30
SHORTEST_PREFIX = 3  # characters of a term that also finds longer words
SENTENCE = 4  # words, from which on a query may be a sentence that was pasted
STOP_WORDS = frozenset("an and are can do does for how in is my of the through to what with".split())  # noqa: SIM905

# Of the columns, a match in names or title counts most. `char(2)` and `char(3)` enclose a match.
FOUND = """
    SELECT kind, highlight(entries, 1, char(2), char(3)), address, trail, snippet(entries, 2, char(2), char(3), '…', 28)
    FROM entries WHERE entries MATCH :match
    ORDER BY weight * CASE
        WHEN instr(names, char(10) || :query || char(10)) THEN -10000
        WHEN rowid IN (SELECT rowid FROM entries WHERE entries MATCH :phrase) THEN -1000 + bm25(entries, 0, 50, 1, 5)
        ELSE bm25(entries, 0, 50, 1, 5) END, rowid
"""


@dataclass(frozen=True, slots=True)
class Result:
    """A place that was found, with the terms marked."""

    kind: str
    title: SafeString
    address: str
    trail: str
    snippet: SafeString


@dataclass(frozen=True, slots=True)
class Results:
    """What a query finds. `suggestion` is a name that is close, if nothing was found."""

    query: str
    total: int
    shown: tuple[Result, ...]
    suggestion: str = ""


def search(text: str) -> Results:
    """Return the places with every term of a query, the best first; if there are none, those with most of the terms."""
    query = normalised(text)
    terms = _terms(query.lower())
    phrase = _phrase(query)
    # At least half of the terms; a sentence that was pasted has them all.
    for count in range(len(terms), max((len(terms) - 1) // 2, 0), -1):
        match = " OR ".join(f"({' AND '.join(some)})" for some in combinations(terms, count))
        given = {"match": f"({phrase}) OR {match}", "phrase": phrase, "query": query.lower()}
        if rows := _index().execute(FOUND, given).fetchall():
            return Results(query, len(rows), tuple(_result(*row) for row in rows[:MOST_RESULTS]))
    return Results(query, 0, (), suggestion=_closest(query.lower()) if terms else "")


@lru_cache(maxsize=1)
def _index() -> sqlite3.Connection:
    """Return the index of this process. It is made at the first search."""
    index = sqlite3.connect(":memory:", check_same_thread=False)
    index.execute(
        "CREATE VIRTUAL TABLE entries USING fts5(kind UNINDEXED, title, text, names, address UNINDEXED, trail UNINDEXED, weight UNINDEXED)"
    )
    index.executemany(
        "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)",
        (
            (
                each.kind,
                each.title,
                each.text,
                "\n".join(("", each.title, *each.names, "")).lower(),
                each.address,
                each.trail,
                each.weight,
            )
            for each in entries()
        ),
    )
    return index


def _terms(query: str) -> tuple[str, ...]:
    """Return the patterns of the words of a query that mean something, or of all if none does.

    >>> _terms("how to rotate a key")
    ('"rotate"*', '"key"*')
    """
    words = [word for word in dict.fromkeys(query.split()) if re.search(r"[^\W_]", word)]
    some = [word for word in words if len(word) > 1 and word not in STOP_WORDS] or words
    return tuple(map(_pattern, some[:MOST_TERMS]))


def _pattern(word: str) -> str:
    """Return the pattern of a word and of those that begin with it."""
    plain = word.replace('"', "")
    return f'"{plain}"' + "*" * (len(plain) >= SHORTEST_PREFIX)


def _phrase(query: str) -> str:
    """Return the pattern of a sentence that was pasted, without its numbers, which texts leave out.

    >>> _phrase('"At most 5000 is left to refund."'), _phrase("refund")
    ('"At most   is left to refund." OR "At most 5000 is left to refund."', '"…"')
    """
    plain = query.replace('"', "")
    if plain.count(" ") + 1 < SENTENCE:
        return '"…"'  # no word, which matches nothing
    return " OR ".join(f'"{each}"' for each in dict.fromkeys((re.sub(r"\b\d+\b", " ", plain), plain)))


def normalised(text: str) -> str:
    r"""Return a query without control characters and needless blanks, and not too long.

    Card numbers are masked, because pages repeat the query. Test cards can be searched for.

    >>> normalised("  duplicate\x00 reference ")
    'duplicate reference'
    """
    plain = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in text)
    return without_real_cards(" ".join(plain.split()))[:LONGEST_QUERY].rstrip()


def _closest(query: str) -> str:
    lines = (names for (names,) in _index().execute("SELECT names FROM entries"))
    known = {name for names in lines for name in names.split("\n") if name}
    return next(iter(get_close_matches(query, sorted(known), n=1, cutoff=0.7)), "")


def _result(kind: str, title: str, address: str, trail: str, snippet: str) -> Result:
    return Result(kind, _marked(title), address, trail, _marked(snippet))


def _marked(text: str) -> SafeString:
    """Return a text as HTML, with what `FOUND` enclosed marked."""
    return mark_safe(escape(text).replace("\x02", "<mark>").replace("\x03", "</mark>"))  # noqa: S308  (escaped)
