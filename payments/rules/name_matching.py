"""Compare the name that a merchant gave with the one that a bank answers.

Case, accents, the order of words, titles and company forms don't matter. Names match when all words of one are within
the other.

>>> names_match("Adamu Cotton Co.", "ADAMU COTTON COMPANY"), names_match("Mushin Thread & Trim", "TRIM AND THREAD MUSHIN")
(True, True)
>>> names_match("Mr. Şadé Òbi", "OBI SADE NGOZI"), names_match("Bisi Alabi Ventures", "ADEBISI FASHION HOUSE")
(True, False)
>>> names_match("Limited", "LTD"), names_match("Limited", "Ada Obi"), names_match("", "Ada Obi")
(False, False, False)
"""

import re

from kit.text.folding import fold

TITLES = frozenset(
    {
        "alhaja", "alhaji", "barr", "barrister", "chief", "dr", "engr", "hajia", "hon", "madam", "mallam", "master",
        "miss", "mr", "mrs", "ms", "mx", "pastor", "prof", "professor", "rev", "reverend", "sir",
    }
)  # fmt: skip
COMPANY_FORMS = frozenset(
    {
        "co", "company", "corp", "corporation", "ent", "enterprise", "enterprises", "gmbh", "inc", "incorporated",
        "limited", "llc", "llp", "ltd", "plc",
    }
)  # fmt: skip


def names_match(given: str, by_bank: str) -> bool:
    """Return whether two names are of the same holder."""
    ours, theirs = _words(given), _words(by_bank)
    return bool(ours and theirs) and (ours <= theirs or theirs <= ours)


def _words(name: str) -> frozenset[str]:
    """Return the words of a name, or all of them if it has only titles and company forms."""
    words = frozenset(re.findall(r"\w+", fold(name).replace("&", " and ").replace(".", " ")))
    return words - TITLES - COMPANY_FORMS or words
