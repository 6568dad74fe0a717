"""Colours for code samples: elements that `static/css/code.css` styles.

>>> print(code_markup('import sluice  # the client'))
<span class="w">import</span> sluice  <span class="c"># the client</span>
"""

import re

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

_TOKEN = re.compile(
    r"""
    (?P<c> (?: (?<=\s) | ^ ) (?: \# | // ) [^\n]*+ )
    | (?P<s> "(?:[^"\\\n]|\\.)*+" | '(?:[^'\\]|\\.)*+' )
    | (?P<n> (?<![\w.-]) \d++ (?![\w.-]) )
    | (?P<w> \b (?: import | from | as | with | try | except | if | else | return | raise | print | const | let | await
        | async | new | catch | throw | curl | export | True | False | None | true | false | null ) \b )
    """,
    re.MULTILINE | re.VERBOSE,
)


def code_markup(source: str) -> SafeString:
    """Return the source text of a sample with coloured comments, strings, numbers and keywords."""
    parts, end = [], 0
    for token in _TOKEN.finditer(source):
        parts += [
            escape(source[end : token.start()]),
            f'<span class="{token.lastgroup}">{escape(token[0])}</span>',
        ]
        end = token.end()
    return mark_safe("".join([*parts, escape(source[end:])]))  # noqa: S308  (each part is escaped)
