"""The account's settings, what the connector declares, and its place in the registry."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.checks.startup import every_connector_is_usable
from config.environment import checkout_account
from connectors.checkout.cards import CheckoutAcquirer
from kit.connectors import connectors
from payments import rails
from payments.rails.protocol import CardAcquirer, Reverses, ThreeDSecureSupport
from tests.connectors.checkout.connecting import configure

LETTERS = "abcdefghijklmnopqrstuvwxyz2"  # 27
LIVE, TEST = f"sk_{LETTERS}", f"sk_sbox_{LETTERS}"
CHANNEL = f"pc_{LETTERS[:26]}"
LIVE_URL, TEST_URL = "https://vkuhvk4v.api.checkout.com", "https://vkuhvk4v.api.sandbox.checkout.com"


@pytest.fixture
def account(settings):
    connectors._made.cache_clear()
    configure(settings)
    settings.CARD_ACQUIRER = "checkout"
    yield settings
    connectors._made.cache_clear()


class TestSettings:
    def problems(self, *, is_sandbox, key="", url="", channel=""):
        return list(
            checkout_account.problems(
                secret_key=key, url=url, channel=channel, is_sandbox=is_sandbox, may_be_simulated=is_sandbox
            )
        )

    @pytest.mark.parametrize(
        ("key", "url", "is_sandbox"),
        [
            (LIVE, LIVE_URL, False),
            (LIVE, "https://api.checkout.com", False),
            (TEST, TEST_URL, True),
            (TEST, "http://127.0.0.1:8590", True),
            (f"sk_sbox_{LETTERS[:26]}#", "https://pl-vkuhvk4v.api.sandbox.checkout.com", True),
            ("", "", True),
        ],
    )
    def test_of_the_right_environment_are_accepted(self, key, url, is_sandbox):
        assert self.problems(key=key, url=url, channel=CHANNEL, is_sandbox=is_sandbox) == []

    @pytest.mark.parametrize("is_sandbox", [True, False])
    @pytest.mark.parametrize(
        "key",
        [
            f"pk_{LETTERS}", f"pk_sbox_{LETTERS}", "sk_test_4f2dbe52-0b0a-4a33-9d1d-4ea9a4a4e8f0",
            "sk_4f2dbe52-0b0a-4a33-9d1d-4ea9a4a4e8f0", f"Bearer {TEST}", TEST[:-1], f"{LIVE}x",
        ],
    )  # fmt: skip
    def test_key_of_the_wrong_kind_is_refused_without_its_value(self, key, is_sandbox):
        [problem] = self.problems(key=key, is_sandbox=is_sandbox)

        assert problem.startswith("CHECKOUT_SECRET_KEY must be a secret key")
        assert key not in problem

    @pytest.mark.parametrize(("key", "is_sandbox"), [(LIVE, True), (TEST, False)])
    def test_key_of_the_other_environment_is_refused(self, key, is_sandbox):
        assert len(self.problems(key=key, is_sandbox=is_sandbox)) == 1

    @pytest.mark.parametrize(
        ("url", "is_sandbox"),
        [
            (LIVE_URL, True),
            (TEST_URL, False),
            ("http://127.0.0.1:8590", False),
            ("http://vkuhvk4v.api.sandbox.checkout.com", True),
            ("https://api.sandbox.checkout.com.evil.example", True),
            ("https://api.sandbox.checkout.com@evil.example", True),
            ("https://vkuhvk4v.api.sandbox.checkout.com/payments", True),
            ("https://vkuhvk4v.api.sandbox.checkout.com:99999", True),
            ("checkout", True),
        ],
    )
    def test_address_that_is_not_theirs_is_refused(self, url, is_sandbox):
        [problem] = self.problems(url=url, is_sandbox=is_sandbox)

        assert problem.startswith("CHECKOUT_URL must be the account's address")

    def test_channel_has_their_form(self):
        [problem] = self.problems(channel="pc_1", is_sandbox=True)

        assert problem.startswith("CHECKOUT_PROCESSING_CHANNEL must be")

    @pytest.mark.parametrize("code", ["CLP", "CLF", "XYZ", "ngn"])
    def test_currency_that_they_divide_otherwise_is_refused(self, code):
        with pytest.raises(ValueError):
            checkout_account.currency(code)


class TestConnector:
    def test_is_chosen_by_name(self, account):
        made = rails.card_acquirer("checkout")

        assert made.name == "checkout"
        assert made.is_available()
        assert every_connector_is_usable() == []

    def test_has_the_members_of_the_protocol(self, account):
        assert connectors.make(rails.ACQUIRERS["checkout"], protocol=CardAcquirer)

    @pytest.mark.parametrize("name", ["SECRET_KEY", "PROCESSING_CHANNEL", "URL"])
    def test_names_a_missing_setting(self, account, name):
        setattr(account, f"CHECKOUT_{name}", "")

        with pytest.raises(ImproperlyConfigured, match=f"CHECKOUT_{name}"):
            CheckoutAcquirer()

    def test_account_is_the_channel_with_any_key(self, account):
        first = CheckoutAcquirer().account
        account.CHECKOUT_SECRET_KEY = TEST

        assert CheckoutAcquirer().account == first == f"checkout:{account.CHECKOUT_PROCESSING_CHANNEL}"

    def test_takes_back_by_refund(self, account):
        assert CheckoutAcquirer().reverses is Reverses.BY_REFUND


class TestCapabilities:
    def test_are_those_of_their_interface(self, account):
        can = CheckoutAcquirer().capabilities

        assert can.three_d_secure is ThreeDSecureSupport.ON_REQUEST
        assert all((can.captures_later, can.voids, can.partial_refunds, can.checks_cards))
        assert (can.hosted_only, can.currencies) == (False, frozenset({"NGN"}))

    @pytest.mark.parametrize(
        ("currency", "amount", "field"),
        [
            ("NGN", 999_999_999, None),
            ("NGN", 1_000_000_000, "amount"),
            ("KWD", 1_010, None),
            ("KWD", 1_001, "amount"),
            ("JPY", 1_001, None),
            ("USD", 100, "currency"),
        ],
    )
    def test_limit_amounts_and_currencies(self, account, currency, amount, field):
        account.CHECKOUT_CURRENCIES = ["NGN", "KWD", "JPY"]

        unsupported = CheckoutAcquirer().capabilities.unsupported(currency, amount)

        assert list(unsupported) == ([field] if field else [])

    def test_hosted_cards_are_entered_on_their_page_only(self, account):
        account.CHECKOUT_CARDS = "hosted"

        assert CheckoutAcquirer().capabilities.hosted_only
