import copy
import json
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.text.masking import passes_luhn
from payments.pages.card_form import read_card
from payments.rules.cards import BRANDS, CardSecret, brand_of, has_expired

DIGITS = st.text(alphabet="0123456789", min_size=11, max_size=18)
PREFIXES = {
    "VISA": ["4", "4999"],
    "MASTERCARD": ["51", "55", "2221", "2720"],
    "VERVE": ["506099", "506198", "507865", "507964", "650002", "650027"],
    "AMEX": ["34", "37"],
    "DISCOVER": ["6011", "644", "649", "65", "650001", "650028"],
    "DINERS": ["300", "305", "36", "38", "39"],
    "JCB": ["3528", "3589"],
    "UNIONPAY": ["62", "81"],
    "MAESTRO": ["50", "56", "58", "63", "67", "506098", "506199"],
    "UNKNOWN": ["1", "9", "0", "2220", "2721", "3527", "3590", "643", "306"],
}


def check_digit(digits):
    return next(str(n) for n in range(10) if passes_luhn(f"{digits}{n}"))


class TestBrand:
    def test_follows_from_the_first_digits(self, subtests):
        for brand, prefix in [(brand, prefix) for brand, prefixes in PREFIXES.items() for prefix in prefixes]:
            with subtests.test(brand=brand, prefix=prefix):
                number = prefix.ljust(15, "0")

                assert brand_of(number + check_digit(number)) == brand

    @given(DIGITS)
    def test_is_always_a_known_one(self, digits):
        assert brand_of(digits) in {brand for brand, _ in BRANDS} | {"UNKNOWN"}

    def test_of_verve_precedes_the_enclosing_ranges(self):
        names = [brand for brand, _ in BRANDS]

        assert names.index("VERVE") < min(names.index("DISCOVER"), names.index("MAESTRO"))

    def test_has_ranges_of_equal_length(self):
        ends = [ends for _, ranges in BRANDS for ends in ranges]

        assert all(len(first) == len(last) and first <= last for first, last in ends)


class TestLuhn:
    @given(DIGITS)
    def test_accepts_one_of_ten_check_digits(self, digits):
        assert sum(passes_luhn(f"{digits}{n}") for n in range(10)) == 1

    @given(DIGITS, st.integers(min_value=0), st.integers(min_value=1, max_value=9))
    def test_detects_every_single_wrong_digit(self, digits, place, shift):
        number = digits + check_digit(digits)
        place %= len(number)

        wrong = str((int(number[place]) + shift) % 10)

        assert not passes_luhn(number[:place] + wrong + number[place + 1 :])


class TestExpiry:
    @given(st.integers(min_value=2000, max_value=9998), st.integers(min_value=1, max_value=12))
    def test_is_after_the_month_has_ended_everywhere(self, year, month):
        following = datetime(year + month // 12, month % 12 + 1, 1, tzinfo=UTC)
        card = {"month": f"{month:02}", "year": f"{year}"}

        assert not has_expired(**card, now=following - timedelta(seconds=1))
        assert not has_expired(**card, now=following + timedelta(hours=11, minutes=59))
        assert has_expired(**card, now=following + timedelta(hours=12))

    @pytest.mark.parametrize(
        ("hours", "fault"), [(11, None), (12, "This card has expired. Use another card.")]
    )
    def test_card_page_accepts_a_month_until_it_has_ended_everywhere(self, hours, fault):
        form, _ = read_card({"expiry": "11/26"}, now=datetime(2026, 12, 1, hours, tzinfo=UTC))

        assert form.errors.get("expiry") == fault

    @pytest.mark.parametrize(("year", "expected"), [("0000", True), ("9999", False)])
    def test_accepts_the_first_and_the_last_year(self, year, expected):
        assert has_expired(month="12", year=year, now=datetime(2026, 1, 1, tzinfo=UTC)) is expected


class TestCardSecret:
    SECRET = CardSecret(number="4084080000005408", cvv="408")

    @pytest.mark.parametrize("show", [repr, str, "{}".format, lambda one: f"{[one]!r}"])
    def test_hides_its_contents(self, show):
        text = show(self.SECRET)

        assert "4084" not in text
        assert "408" not in text

    @pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars])
    def test_cannot_be_serialised(self, write):
        with pytest.raises(TypeError):
            write(self.SECRET)
