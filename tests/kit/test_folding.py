"""Folding of texts that people search for."""

import pytest

from kit.text.folding import fold


@pytest.mark.parametrize(
    "text",
    [
        "4084080\u200b000005408",
        "⁴⁰⁸⁴⁰⁸⁰⁰⁰⁰⁰⁰⁵⁴⁰⁸",
        "4084'0800'0000'5408",
        "4084080\u2019000005408",
        "40840\u00ad80000005408",
    ],
)
def test_card_number_is_masked_however_it_is_spelled(text):
    assert fold(f"Ada {text}") == "ada 408408******5408"
