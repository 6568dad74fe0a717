"""Search of the documentation: no database, no script, no other host.

An exact name comes first (`duplicate_reference`, `20051`, `/api/payments`, `payment_method_id`), then titles, then texts.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from math import log

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from config.docs_site.search_index import Entry, entries
from payments.scenario_steps import without_real_cards

LONGEST_QUERY = 100  # characters; more are ignored
MOST_TERMS = 8
MOST_RESULTS = 30
SNIPPET = 180  # characters

STOP_WORDS = frozenset(
    {
        "an",
        "and",
        "are",
        "can",
        "do",
        "does",
        "for",
        "how",
        "in",
        "is",
        "my",
        "of",
        "the",
        "through",
        "to",
        "what",
        "with",
    }
)
LISTS, CLIENTS = "lists", "clients"
SYNONYMS = {  # the word that the documentation uses
    "page": LISTS, "pages": LISTS, "paginate": LISTS, "pagination": LISTS, "paging": LISTS, "cursor": LISTS,
    "library": CLIENTS, "libraries": CLIENTS, "npm": CLIENTS, "pip": CLIENTS, "sdk": CLIENTS, "sdks": CLIENTS,
}  # fmt: skip

EXACT, WHOLE_TITLE, IN_KEY = 1000.0, 300.0, 60.0
SHORTEST_PREFIX = 3  # characters of a term that is marked as the first part of a longer word
TITLE_BEGINS, TITLE_WORD, TITLE_PART, TEXT = 40.0, 25.0, 10.0, 4.0
PHRASE = 200.0  # the whole query in a text, as it is
SENTENCE = 4  # words, from which on a query may be a sentence that was pasted
GAP = "…"  # in the index, in place of a number or another value (`config.error_details`)


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
    if not terms:
        return Results(query, 0, ())
    found = _found(query.lower(), terms)
    words = (*terms, *(SYNONYMS[term] for term in terms if term in SYNONYMS))
    shown = tuple(_result(entry, words, query.lower()) for entry in found[:MOST_RESULTS])
    return Results(query, len(found), shown, suggestion="" if found else _closest(query.lower()))


def _terms(query: str) -> tuple[str, ...]:
    """Return the words of a query that mean something, or all of its words if none does.

    >>> _terms("how to rotate a key")
    ('rotate', 'key')
    """
    words = tuple(dict.fromkeys(_without_marks(word) or word for word in query.split()))
    return (tuple(word for word in words if len(word) > 1 and word not in STOP_WORDS) or words)[:MOST_TERMS]


def _without_marks(text: str) -> str:
    """Return a word or a query without the quotation marks and the full stop of a sentence that was pasted.

    >>> _without_marks('"The authorisation has expired."')
    'The authorisation has expired'
    """
    return text.strip("\"'“”").rstrip(".,;:!?\"'”")


def normalised(text: str) -> str:
    r"""Return a query without control characters and needless blanks, and not too long.

    Card numbers are masked, because pages repeat the query. Test cards can be searched for.

    >>> normalised("  duplicate\x00 reference ")
    'duplicate reference'
    """
    plain = "".join(" " if unicodedata.category(letter)[0] == "C" else letter for letter in text)
    return without_real_cards(" ".join(plain.split()))[:LONGEST_QUERY].rstrip()


def _found(query: str, terms: Sequence[str]) -> list[Entry]:
    """Return the entries with every term; without any, those with the most terms, but at least half of them."""
    scored = [(*_score(entry, query, terms), entry) for entry in entries()]
    most = max((matched for matched, *_ in scored), default=0)
    least = len(terms) if most == len(terms) else max((len(terms) + 1) // 2, 1)
    best = sorted((each for each in scored if each[0] >= least), key=lambda each: (-each[0], -each[1]))
    return [entry for *_, entry in best]


def _score(entry: Entry, query: str, terms: Sequence[str]) -> tuple[int, float]:
    """Return how many terms an entry has, and how well it matches. An exact name has them all."""
    title, text = _folded(entry)
    scores = [_best_score(term, title, text, entry.keys) for term in terms]
    whole = EXACT if query in entry.keys else WHOLE_TITLE if query == title else 0
    phrase = PHRASE if _phrase_in(text, query) else TITLE_BEGINS if len(terms) > 1 and query in title else 0
    matched = len(terms) if whole or phrase else sum(1 for score in scores if score)
    return matched, (whole + sum(scores) + phrase) * entry.weight


def _phrase_in(text: str, query: str) -> str:
    """Return the sentence of a query as a text has it, with or without its numbers. Empty if the text lacks it.

    >>> _phrase_in("at most … is left to refund.", "at most 5000 is left to refund.")
    'at most … is left to refund'
    """
    pasted = _without_marks(query)
    if pasted.count(" ") + 1 < SENTENCE:
        return ""
    return next((each for each in (pasted, re.sub(r"\b\d+\b", GAP, pasted)) if each in text), "")


def _best_score(term: str, title: str, text: str, keys: frozenset[str]) -> float:
    words = [term, SYNONYMS[term]] if term in SYNONYMS else [term]
    return max(_score_of_term(word, title, text, keys) for word in words)


def _score_of_term(term: str, title: str, text: str, keys: frozenset[str]) -> float:
    score = IN_KEY if term in keys else 0.0
    if term in title:
        begins = title.startswith(term)
        score += TITLE_BEGINS if begins else TITLE_WORD if _is_word_of(term, title) else TITLE_PART
    count = text.count(term)
    return score + (TEXT * (1 + log(count)) if count else 0)


def _is_word_of(term: str, title: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(term)}", title) is not None


@lru_cache(maxsize=4096)
def _folded(entry: Entry) -> tuple[str, str]:
    return entry.title.lower(), entry.text.lower()


def _closest(query: str) -> str:
    names = {key for entry in entries() for key in entry.keys}
    return next(iter(get_close_matches(query, sorted(names), n=1, cutoff=0.7)), "")


# What is shown ---------------------------------------------------------------------------------------


def _result(entry: Entry, terms: Sequence[str], query: str) -> Result:
    phrase = _phrase_in(_folded(entry)[1], query)
    terms = (phrase, *terms) if phrase else terms
    return Result(
        kind=entry.kind,
        title=marked(entry.title, terms),
        address=entry.address,
        trail=entry.trail,
        snippet=marked(snippet(entry.text, terms), terms),
    )


def snippet(text: str, terms: Sequence[str]) -> str:
    """Return the part of a text around the first term, from word to word.

    >>> found = snippet("one two " * 40 + "needle " + "three four " * 40, ["needle"])
    >>> found[:9], found[-7:], "needle" in found
    ('… one two', 'three …', True)
    """
    sought = terms[:1] if " " in terms[0] else terms  # the phrase, if the text has it
    place = min((at for at in (text.lower().find(term) for term in sought) if at >= 0), default=0)
    start = max(0, place - SNIPPET // 3)
    if start:
        start = text.find(" ", start, place) + 1 or start
    end = start + SNIPPET
    if end < len(text):
        end = text.rfind(" ", start, end) if " " in text[start + 1 : end] else end
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"


def marked(text: str, terms: Sequence[str]) -> SafeString:
    """Return a text as HTML with its terms marked, where a word is one or begins with one.

    >>> print(marked("Send <b>amounts</b>", ["amount"]))
    Send &lt;b&gt;<mark>amount</mark>s&lt;/b&gt;
    >>> print(marked("no_price is below no price", ["no", "be", "price"]))
    no_<mark>price</mark> is below <mark>no</mark> <mark>price</mark>
    """
    longest_first = sorted(terms, key=len, reverse=True)
    parts = re.split(f"({'|'.join(map(_at_a_word, longest_first))})", text, flags=re.IGNORECASE)
    return format_html_join("", "{}", ((part,) for part in _elements(parts)))


def _at_a_word(term: str) -> str:
    """Return the pattern of a term at the start of a word. A shorter term than `SHORTEST_PREFIX` must be all of it."""
    start = r"(?<![^\W_])" if term[0].isalnum() else ""
    if len(term) < SHORTEST_PREFIX and term.isalnum():
        return rf"(?<!\w){re.escape(term)}(?!\w)"
    return start + re.escape(term)


def _elements(parts: Sequence[str]) -> Iterator[str]:
    for place, part in enumerate(parts):
        yield format_html("<mark>{}</mark>", part) if place % 2 else part
