import ast
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.text.code_literals import JSON, NODE, PYTHON, WIDTH, Member

TEXTS = st.text(st.characters(codec=None, exclude_categories=()), max_size=20)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_python_reads_what_was_written(value):
    assert ast.literal_eval(PYTHON.write(value)) == value


@settings(max_examples=60, deadline=None)
@given(VALUES)
def test_json_reads_what_was_written(value):
    assert json.loads(JSON.write(value)) == json.loads(json.dumps(value))


@settings(max_examples=50, deadline=None)
@given(TEXTS)
@pytest.mark.parametrize("language", [PYTHON, NODE, JSON])
def test_texts_hide_nothing(language, text):
    assert language.write(text).isprintable()


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        (PYTHON, '{"on": True, "off": False, "none": None}'),
        (NODE, "{ on: true, off: false, none: null }"),
        (JSON, '{"on": true, "off": false, "none": null}'),
    ],
)
def test_short_values_stay_on_one_line(language, expected):
    assert language.write({"on": True, "off": False, "none": None}) == expected


def test_long_values_have_a_line_for_each_member():
    value = {"list": ["a" * 30, "b" * 30], "object": {"3ds": 1}}

    assert NODE.write(value).splitlines() == [
        "{",
        f'  list: ["{"a" * 30}", "{"b" * 30}"],',
        '  object: { "3ds": 1 },',
        "}",
    ]
    assert JSON.write(value).splitlines()[-2:] == ['  "object": {"3ds": 1}', "}"]


def test_lines_end_before_the_width():
    value = {f"name_{number}": {"a" * size: "b" * size} for number, size in enumerate(range(15, 35))}

    assert max(map(len, PYTHON.write(value).splitlines())) <= WIDTH


def test_comments_stand_behind_their_members():
    members = [Member("amount=", 50000, "NGN 500.00"), Member("currency=", "NGN")]

    assert PYTHON.enclose("pay(", members, ")").splitlines() == [
        "pay(",
        "    amount=50000,  # NGN 500.00",
        '    currency="NGN",',
        ")",
    ]


def test_the_prototype_is_a_name_like_others():
    assert NODE.write({"__proto__": 1}) == '{ ["__proto__"]: 1 }'
