import copy
import json
import pickle

import pytest

from payments.rules.cards import Card, CardSecret

NUMBER, CVV = "5399838383838381", "8263"


@pytest.fixture
def secret():
    return CardSecret(number=NUMBER, cvv=CVV)


class TestCardSecret:
    @pytest.mark.parametrize(
        "show", [repr, str, ascii, format, "{}".format, "{!r:>20}".format, "%s".__mod__, "%r".__mod__]
    )
    def test_hides_its_contents(self, secret, show):
        shown = show(secret)

        assert "<CardSecret>" in shown
        assert NUMBER not in shown
        assert CVV not in shown

    @pytest.mark.parametrize("write", [pickle.dumps, copy.copy, copy.deepcopy, json.dumps, vars, dict, list])
    def test_cannot_be_serialised_or_copied(self, secret, write):
        with pytest.raises(TypeError):
            write(secret)

    @pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
    def test_rejects_every_pickle_protocol(self, secret, protocol):
        with pytest.raises(TypeError, match="never written down"):
            pickle.dumps(secret, protocol)

    def test_is_hidden_within_a_card(self, secret):
        card = Card(
            secret=secret,
            brand="MASTERCARD",
            bin="539983",
            last4="8381",
            name="Ada Obi",
            expiry_month="12",
            expiry_year="2035",
        )

        assert NUMBER not in repr(card)
        assert CVV not in repr(card)
        with pytest.raises(TypeError):
            pickle.dumps(card)

    def test_is_revealed_by_explicit_calls(self, secret):
        assert (secret.reveal_number(), secret.reveal_cvv()) == (NUMBER, CVV)
