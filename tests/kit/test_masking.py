import re
import sys
import unicodedata
from datetime import datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit.text import masking
from kit.text.masking import mask_card_numbers, mask_target, passes_luhn
from payments.rules.cards import BRANDS

MASKED = "408408******4081"
GROUPS = ("4084", "0840", "8408", "4081")
SEPARATORS = [
    ".", ",", "/", "\\", "_", "+", "*", "\t", "  ", " - ", " / ", ", ", "--", "\u00ad", "\u00b7", "\u2009", "\u200b",
    "\u2010", "\u2011", "\u2013", "\u2014", "\u202f", "\u2022", "\u2060", "\u2212", "\u3000", "\ufeff",
]  # fmt: skip
ZEROS = ["0", "\u0660", "\u06f0", "\u0966", "\uff10"]  # of ASCII, Arabic, Persian, Devanagari; fullwidth
ISSUED = {
    "4": (13, 16, 19), "51": (16,), "55": (16,), "2221": (16,), "2720": (16,), "34": (15,), "37": (15,),
    "506099": (16, 18, 19), "506198": (16, 18, 19), "507865": (16, 18, 19), "507964": (16, 18, 19),
    "650002": (16, 18, 19), "650027": (16, 18, 19), "6011": (16, 19), "644": (16, 19), "649": (16, 19), "65": (16, 19),
    "300": (14, 16, 19), "305": (14, 16, 19), "3095": (14, 16, 19), "36": (14, 19), "38": (14, 19), "39": (14, 19), "3528": (16, 19),
    "3589": (16, 19), "2131": (15,), "1800": (15,), "62": (16, 17, 18, 19), "81": (16, 19), "50": (12, 19),
    "56": (12, 16, 19), "59": (12, 19), "63": (12, 16, 19), "67": (12, 16, 19), "6": (12, 13, 14, 15),
}  # fmt: skip
LAYOUTS = {14: [4, 6, 4], 15: [4, 6, 5]}  # the others in fours
NOT_ISSUED = [
    "+234 803 123 0007", "2348031230007", "002348031230007", "+234-803-123-0007", "356938035643809",
    "860123456789014", "01 012345 678901 3", "1795721232001", "012345678903", "903112345678", "9084084084084080",
]  # fmt: skip


class TestMaskCardNumbers:
    def test_masks_a_card_number_at_any_position(self, subtests):
        for text, shown in [
            ("4084084084084081", MASKED),
            ("pan=4084084084084081;", f"pan={MASKED};"),
            ("card4084084084084081card", f"card{MASKED}card"),
            ("4084 0840 8408 4081", MASKED),
            ("4084-0840-8408-4081", MASKED),
            ("4084\u00a00840\u00a08408\u00a04081", MASKED),
            ("4 0 8 4 0 8 4 0 8 4 0 8 4 0 8 1", MASKED),
            ("4084084084084081 12 2030 408", f"{MASKED} 12 2030 408"),
            ("4084084084084081 2030", f"{MASKED} 2030"),
            ("order 12 4084084084084081", f"order 12 {MASKED}"),
            ("1 2 3 4084084084084081", f"1 2 3 {MASKED}"),
            ("4084084084084081 4084084084084081", f"{MASKED} {MASKED}"),
            ("340000000000009", "340000*****0009"),
            ("507000000004\n4084084084084081", f"507000**0004\n{MASKED}"),
            ("4084\u200e0840\u202c8408\u20694081", MASKED),
        ]:
            with subtests.test(text=text, shown=shown):
                assert mask_card_numbers(text) == shown

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "4084084084084082",
            "40840840840",
            "1" * 25,
            "4084084084084081" * 2,
            "2026-01-31T08:00:00.123Z",
            "08012345678",
        ],
    )
    def test_leaves_other_digits_unchanged(self, text):
        assert mask_card_numbers(text) == text

    def test_masks_a_card_number_with_any_separators(self, subtests):
        for separator in SEPARATORS:
            with subtests.test(separator=separator):
                assert mask_card_numbers(f"card {separator.join(GROUPS)}.") == f"card {MASKED}."

    @pytest.mark.parametrize(
        "mark", ["\u200b", "\u2060\ufeff", "\u061c", "\u034f", "\u206a", "\ufe0f", "\u202d"]
    )
    def test_masks_a_card_number_with_invisible_marks_between_any_digits(self, mark):
        number = f"40840{mark}8000 {mark}00054{mark}08"

        assert mask_card_numbers(f"card {number}.") == "card 408408******5408."

    @pytest.mark.parametrize("zero", ZEROS)
    def test_masks_a_card_number_in_the_digits_of_any_script(self, zero):
        assert mask_card_numbers(f"card {in_script(' '.join(GROUPS), zero)}!") == f"card {MASKED}!"
        assert mask_card_numbers(in_script("-".join("4084084084084081"), zero)) == MASKED

    def test_treats_lines_and_values_of_documents_separately(self):
        for text in ('"4084", "0840", "8408", "4081"', "\n".join(GROUPS), ":".join(GROUPS), ";".join(GROUPS)):
            assert mask_card_numbers(text) == text

    @pytest.mark.parametrize(
        "text",
        [
            "40.84.08.40.84.08.40.81",  # not as a card shows it
            "4,084,084,084,084,081.00",
            "9084.0840.8408.4080",  # no scheme issues it, though it passes the Luhn check
            "4084.0840.8408.4082",
            "192.168.100.100, 10.0.0.1",
            "2400:1234:5678:9010",
        ],
    )
    def test_leaves_digits_that_only_resemble_a_card_number_unchanged(self, text):
        assert mask_card_numbers(text) == text

    def test_leaves_digits_that_no_scheme_issues_unchanged(self, subtests):
        for text in NOT_ISSUED:
            with subtests.test(text=text):
                assert passes_luhn("".join(filter(str.isdigit, text)))
                assert mask_card_numbers(f"about {text}, please") == f"about {text}, please"

    def test_knows_every_range_of_a_brand(self):
        for brand, ranges in BRANDS:
            for prefix in {edge for both in ranges for edge in both}:
                numbers = [luhn(prefix, length) for length in (13, 15, 16, 19)]
                assert any(mask_card_numbers(each) != each for each in numbers), (brand, prefix)

    @pytest.mark.parametrize(
        "piece",
        [
            "1", "1 ", "12345678901 ", "4084084084084081 ", "1 2-", "1...", "1..", "4084.", "1 / ", "a", "4084-",
            "00000000-0000-4000-8000-", "\uff11", "\u0661.",
        ],
    )  # fmt: skip
    def test_takes_linear_time(self, piece):
        assert steps(piece * 400) < 3 * steps(piece * 200)  # quadratic: 4

    def test_patterns_do_not_backtrack(self, capsys):
        patterns = [value for value in vars(masking).values() if isinstance(value, re.Pattern)]

        for pattern in patterns:
            re.compile(pattern.pattern, re.DEBUG)  # prints the compiled pattern

        output = capsys.readouterr().out
        assert "POSSESSIVE_REPEAT 11 MAXREPEAT" in output
        assert not re.search(r"\b(?:MAX|MIN)_REPEAT \d+ MAXREPEAT", output)


def luhn(prefix, length):
    body = prefix.ljust(length - 1, "0")
    return next(body + check for check in "0123456789" if passes_luhn(body + check))


def in_script(text, zero):
    return "".join(chr(ord(zero) + int(each)) if each.isdigit() else each for each in text)


@st.composite
def issued_numbers(draw):
    prefix = draw(st.sampled_from(sorted(ISSUED)))
    length = draw(st.sampled_from(ISSUED[prefix]))
    rest = draw(st.text("0123456789", min_size=length - len(prefix) - 1, max_size=length - len(prefix) - 1))
    return luhn(prefix + rest, length)


class TestProperties:
    @settings(max_examples=200)
    @given(st.data(), issued_numbers(), st.sampled_from(ZEROS), st.sampled_from(["", "pay ", "№", "x"]))
    def test_issued_number_is_masked_in_every_format(self, data, number, zero, around):
        in_fours = [len(number[start : start + 4]) for start in range(0, len(number), 4)]
        printed = LAYOUTS.get(len(number), in_fours)
        lengths = data.draw(st.sampled_from([printed, [1] * len(number), [len(number)]]))
        separators = data.draw(
            st.lists(st.sampled_from([*SEPARATORS, " ", "-"]), min_size=len(lengths), max_size=len(lengths))
        )
        written, place = "", 0
        for length, separator in zip(lengths, separators, strict=True):
            written += number[place : place + length] + separator
            place += length
        written = in_script(written.removesuffix(separators[-1]), zero)

        shown = mask_card_numbers(f"{around}{written}{around}")

        digits = "".join(str(unicodedata.digit(each)) for each in shown if each.isdigit())
        assert number not in digits
        assert f"{number[:6]}{'*' * (len(number) - 10)}{number[-4:]}" in shown

    @given(st.integers(0, 10**18), st.integers(0, 99))
    def test_amount_is_never_masked(self, units, cents):
        for text in (
            f"NGN {units:,}.{cents:02}",
            f"{units:,}.{cents:02}".translate(str.maketrans(",.", ".,")),
        ):
            assert mask_card_numbers(text) == text

    @given(st.datetimes(datetime(1900, 1, 1), datetime(2999, 1, 1)))  # noqa: DTZ001
    def test_time_is_never_masked(self, moment):
        for text in (
            moment.isoformat(),
            f"{moment:%d.%m.%Y %H:%M:%S}",
            f"{moment:%d/%m/%Y, %H:%M}",
            f"{moment:%c}",
        ):
            assert mask_card_numbers(text) == text

    @given(st.uuids(version=4) | st.text("0123456789", min_size=30, max_size=30))
    def test_uuid_is_never_masked(self, value):
        text = str(value)
        if "-" not in text:  # one of digits only
            text = f"{text[:8]}-{text[8:12]}-4{text[12:15]}-8{text[15:18]}-{text[18:]}"
        assert mask_card_numbers(f"payment {text}") == f"payment {text}"
        assert mask_card_numbers(f"/admin/{text.upper()}/") == f"/admin/{text.upper()}/"

    @given(st.integers(10**9, 10**10 - 1))
    def test_telephone_or_account_number_is_never_masked(self, number):
        text = str(number)
        for shown in (text, f"0{text}", f"+234.{text[:3]}.{text[3:6]}.{text[6:]}", f"{text}, 0{text}"):
            assert mask_card_numbers(shown) == shown


class TestMaskTarget:
    @pytest.mark.parametrize("blank", ["%20", "+", "%C2%A0", "%2E", "%2f", "-", "."])
    def test_masks_a_number_with_encoded_separators(self, blank):
        assert mask_target(f"/api/payments?q={blank.join(GROUPS)}") == f"/api/payments?q={MASKED}"

    def test_masks_encoded_digits(self):
        encoded = "".join(f"%3{digit}" for digit in "".join(GROUPS))
        assert mask_target(f"/api/payments/{encoded}") == f"/api/payments/{MASKED}"

    def test_leaves_other_targets_unchanged(self):
        assert mask_target("/api/payments/a%2Fb?c=%20&d=é") == "/api/payments/a%2Fb?c=%20&d=é"


def steps(text):
    """Return how many lines of Python it takes to mask a text."""
    count = 0

    def note(_frame, event, _argument):
        nonlocal count
        count += event == "line"
        return note

    before = sys.gettrace()
    sys.settrace(note)
    try:
        mask_card_numbers(text)
    finally:
        sys.settrace(before)
    return count
