"""Coloured JSON: the same text as the document, and nothing that a browser would run."""

import html
import json
import re
from typing import Any

import pytest
from django.template.loader import render_to_string
from hypothesis import given
from hypothesis import strategies as st

from dashboard.ui.json_markup import MAX_LENGTH, json_markup, markup_of_text

HOSTILE = [
    "</span><script>alert(1)</script>",
    '" onclick="alert(1)',
    "\\",
    '\\"</code>',
    "&lt;b&gt;",
    '"true": false, "5": null',
    "\u2028\u202e",
]
DOCUMENTS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.text()
    | st.sampled_from(HOSTILE),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text() | st.sampled_from(HOSTILE), inner, max_size=3)
    ),
    max_leaves=8,
)


def text_of(markup: str) -> str:
    return html.unescape(re.sub(r'<span class="[ksnw]">|</span>', "", markup))


@given(DOCUMENTS)
def test_markup_reads_as_the_document(document: Any) -> None:
    assert text_of(json_markup(document)) == json.dumps(document, indent=2, ensure_ascii=False)


@pytest.mark.parametrize("value", HOSTILE)
def test_hostile_texts_add_no_element(value: str) -> None:
    for markup in (json_markup({value: value}), markup_of_text(json.dumps([value])), markup_of_text(value)):
        rest = re.sub(r'<span class="[ksnw]">|</span>', "", markup)
        assert "<" not in rest
        assert '"' not in rest


def test_parts_have_the_classes_of_the_style_sheet() -> None:
    markup = json_markup({"a": "b", "c": -1.5e3, "d": None, "e": [True]})
    assert re.findall(r'class="(.)">(.*?)</span>', html.unescape(markup)) == [
        ("k", '"a"'),
        ("s", '"b"'),
        ("k", '"c"'),
        ("n", "-1500.0"),
        ("k", '"d"'),
        ("w", "null"),
        ("k", '"e"'),
        ("w", "true"),
    ]


def test_long_and_deep_documents_stay_small() -> None:
    assert "<span" not in json_markup(["5"] * MAX_LENGTH)
    assert markup_of_text("[" * 1000 + "]" * 1000) == "[" * 1000 + "]" * 1000


def test_component_folds_the_object_and_copies_its_text() -> None:
    page = render_to_string("components/json.html", {"document": {"amount": 4850000}, "name": "GET /api/x"})
    assert "Amounts in minor units" in page
    assert '<span class="n">4850000</span>' in page
    assert 'data-copy=""' in page  # copies the code below it
