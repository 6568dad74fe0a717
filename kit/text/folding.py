r"""Text as people search for it: without case, marks of letters, apostrophes and card numbers. Decision 0052.

>>> fold("Şadé ÒGÚN"), fold("Łukasz Ɗanjuma O\u2019Brien"), fold("Straße\u00a0Æ\u200b"), fold("4084084084084081")
('sade ogun', 'lukasz danjuma obrien', 'strasse ae', '408408******4081')
"""

import re
import unicodedata
from functools import cache

from kit.text.display_names import pasted
from kit.text.masking import mask_card_numbers

# Letters that Unicode doesn't decompose into a plain letter and a mark.
_LETTERS = {
    "æ": "ae", "ɓ": "b", "ƈ": "c", "đ": "d", "ð": "d", "ɖ": "d", "ɗ": "d", "ə": "e", "ǝ": "e", "ɛ": "e", "ƒ": "f",
    "ɠ": "g", "ɣ": "g", "ħ": "h", "ɦ": "h", "ı": "i", "ɨ": "i", "ɩ": "i", "ƙ": "k", "ł": "l", "ŋ": "n", "ɲ": "n",  # noqa: RUF001
    "œ": "oe", "ø": "o", "ɔ": "o", "ɵ": "o", "ƥ": "p", "ŧ": "t", "ƭ": "t", "ʈ": "t", "þ": "th", "ʉ": "u", "ʊ": "u",
    "ʋ": "v", "ƴ": "y", "ƶ": "z",  # noqa: RUF001
}  # fmt: skip
APOSTROPHES = "'`\u00b4\u02b9\u02bb\u02bc\u02bd\u02be\u02bf\u02c8\u2018\u2019\u201b\u2032\ua78b\ua78c\uff07"
_WITHOUT_APOSTROPHES = str.maketrans("", "", APOSTROPHES)
_PLAIN = str.maketrans(_LETTERS | dict.fromkeys(APOSTROPHES, ""))
_MARKS = rf"[\u0300-\u036f{APOSTROPHES}]*"  # what may follow a letter


def fold(text: str) -> str:
    """Return a text in lower case, without marks of letters, apostrophes and card numbers."""
    text = mask_card_numbers(pasted(text))
    if not text.isascii():  # before NFKD, which makes a blank of some apostrophes
        decomposed = unicodedata.normalize("NFKD", text.translate(_WITHOUT_APOSTROPHES))
        text = "".join(each for each in decomposed if not _is_mark(each))
    # Again, because digits such as ⁴ are plain ones now, and signs between digits are gone.
    return mask_card_numbers(text.casefold().translate(_PLAIN)).strip()


def _is_mark(character: str) -> bool:
    """Return whether a character is an accent or can't be seen."""
    return unicodedata.combining(character) > 0 or unicodedata.category(character) == "Cf"


def spellings(text: str) -> str:
    """Return a regular expression that matches a text, also in another case and with other marks.

    It means the same on every database, whatever its collation.

    >>> bool(re.search(spellings("lukasz' E"), "Łukasz École")), bool(re.search(spellings("ecole."), "Ecoles"))
    (True, False)
    """
    words = pasted(text).split()
    return r"\s+".join("".join(map(_spellings, word)) for word in words) or re.escape(text)


def in_any_order(text: str) -> str:
    """Return a regular expression that matches what has all words of a text, each as `spellings` does, in any order.

    >>> found = in_any_order("obi lukasz")
    >>> bool(re.search(found, "Łukasz Ada Òbi")), bool(re.search(found, "Łukasz Ada"))
    (True, False)
    """
    return "^" + "".join(f"(?=.*{spellings(word)})" for word in text.split())


def beginning(text: str) -> str:
    """Return a regular expression as `spellings` does, for texts that begin with a text."""
    return f"^{_MARKS}{spellings(text)}"


def _spellings(letter: str) -> str:
    """Return an expression for a letter and the marks after it; nothing for a mark or an apostrophe."""
    folded = fold(letter)
    if not folded:
        return ""
    plain = "".join(f"[{_alphabet()[each]}]" if each in _alphabet() else re.escape(each) for each in folded)
    if len(folded) > 1:  # such as a ligature
        same = "|".join(map(re.escape, {letter, letter.lower(), letter.upper()}))
        plain = f"(?:{same}|{plain})"
    return plain + _MARKS


@cache
def _alphabet() -> dict[str, str]:
    """Return the spellings of each letter: itself, in capitals, and with marks."""
    found: dict[str, str] = {}
    for each in map(chr, range(0x2000)):  # the scripts that have cases
        if each.isalpha() and len(folded := fold(each)) == 1:
            found[folded] = found.get(folded, "") + each
    return found
