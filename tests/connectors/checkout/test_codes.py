"""Every line of the table of Checkout.com's codes, written from its documentation and not from ours."""

import pytest

from connectors.checkout.api import codes
from payments.rules.outcomes import DO_NOT_RETRY, RETRY

LINES = [
    ("20005", RETRY, "20001 20002 20005 20046 20016 20072 20078 20062 30035"),
    ("20005", DO_NOT_RETRY, "20004 20067 30004 20038 20055 20075 200O5 30038 20057 20081 20093 2005C 2009G"),
    ("20005", DO_NOT_RETRY, "20182 30036 30044 200R1 200R3"),
    (
        "20030",
        RETRY,
        "20003 20058 20060 20066 20102 20117 20157 200E0 200E2 20009 20118 20006 20013 20015 20017",
    ),
    (
        "20030",
        RETRY,
        "20018 20019 20020 20021 20022 20023 20024 20025 20026 20027 20028 20029 20030 20031 20032",
    ),
    (
        "20030",
        RETRY,
        "20033 20040 20042 20044 20045 20056 20064 20068 20084 20085 20086 20088 20089 20090 20091",
    ),
    (
        "20030",
        RETRY,
        "20092 20094 20095 20096 20097 20098 20099 20197 200A4 200A5 200A6 200S4 200T2 200T5 200E3",
    ),
    (
        "20030",
        RETRY,
        "200N0 20104 20106 20107 20108 20109 20110 20111 20113 20114 20115 20116 20119 20120 20122",
    ),
    ("20030", RETRY, "20123 20156 20158 20193"),
    (
        "20030",
        DO_NOT_RETRY,
        "20012 20014 20039 20052 20053 20083 20101 20103 200T3 30015 30046 20087 20082 20100",
    ),
    ("20030", DO_NOT_RETRY, "20124 200N7 20179 30016 30017 30018 30019 30020 30045 50001 50408"),
    ("20051", RETRY, "20051 20061 20065 20121 200P1 200P9 30021 30022"),
    ("20054", DO_NOT_RETRY, "20054 30033"),
    (
        "20083",
        DO_NOT_RETRY,
        "20059 20063 20183 30007 30034 30037 2006P 20105 40101 40102 40108 40201 40205 41101",
    ),
    ("20083", DO_NOT_RETRY, "41201 41301 42101 42301 43101 43301"),
    ("20151", RETRY, "20112 20150 20151 20152 20153 20154 20155 20159 44301"),
    ("20041", DO_NOT_RETRY, "30041"),
    ("20043", DO_NOT_RETRY, "30043"),
    ("20030", RETRY, "20999 2ZZZZ 99999 x"),  # in no table
    ("20030", DO_NOT_RETRY, "30999"),
    ("20083", DO_NOT_RETRY, "40999"),
]


@pytest.mark.parametrize(
    ("theirs", "ours", "advice"),
    [(theirs, ours, advice) for ours, advice, line in LINES for theirs in line.split()],
)
def test_decline_has_our_code_and_theirs_as_gateway_code(theirs, ours, advice):
    outcome = codes.outcome_of(theirs)

    assert (outcome.code, outcome.advice, outcome.gateway_code) == (ours, advice, theirs)
    assert not outcome.is_success


def test_decline_without_a_code_is_unspecified():
    outcome = codes.outcome_of("")

    assert (outcome.code, outcome.advice, outcome.gateway_code) == ("20030", RETRY, "")


def test_gateway_code_has_letters_and_digits_and_at_most_eight_characters():
    assert codes.outcome_of("2005<C>\x001234567").gateway_code == "2005C123"


@pytest.mark.parametrize(
    ("theirs", "recommendation", "advice"),
    [
        ("20005", "01", RETRY),
        ("20054", "01", DO_NOT_RETRY),
        ("20057", "02", RETRY),
        ("20005", "03", DO_NOT_RETRY),
        ("20005", "99", RETRY),
        ("30041", "02", DO_NOT_RETRY),
        ("30043", "02", DO_NOT_RETRY),
        ("20059", "02", DO_NOT_RETRY),
    ],
)
def test_recommendation_decides_unless_the_card_is_lost_stolen_or_fraudulent(theirs, recommendation, advice):
    assert codes.outcome_of(theirs, recommendation=recommendation).advice == advice


@pytest.mark.parametrize("theirs", ["10000", "10008", "10011", "10076", "10077", "10081", "10100", "10200"])
def test_approval_keeps_their_code(theirs):
    outcome = codes.approved(theirs)

    assert (outcome.code, outcome.gateway_code) == ("10000", theirs)


@pytest.mark.parametrize(
    ("error_codes", "ours", "advice"),
    [
        (["card_number_invalid"], "20030", DO_NOT_RETRY),
        (["card_number_required"], "20030", DO_NOT_RETRY),
        (["card_expiry_month_invalid", "card_expiry_year_invalid"], "20030", DO_NOT_RETRY),
        (["expiry_date_format_invalid"], "20030", DO_NOT_RETRY),
        (["cvv_invalid"], "20030", DO_NOT_RETRY),
        (["card_holder_invalid"], "20030", DO_NOT_RETRY),
        (["card_expired"], "20054", DO_NOT_RETRY),
        (["card_disabled"], "20005", DO_NOT_RETRY),
        (["card_authorization_failed"], "20005", DO_NOT_RETRY),
        (["card_not_found"], "20005", DO_NOT_RETRY),
        (["3ds_malfunction"], "20151", RETRY),
        (["3ds_not_enabled_for_card"], "20151", RETRY),
        (["3ds_payment_required"], "20151", RETRY),
        (["payment_method_not_supported"], "20030", DO_NOT_RETRY),
        (["currency_invalid"], "20030", DO_NOT_RETRY),
        (["amount_limit_exceeded"], "20030", DO_NOT_RETRY),
        (["amount_invalid"], "20030", DO_NOT_RETRY),
        (["something_new"], "20030", RETRY),
        ([], "20030", RETRY),
    ],
)
def test_refused_request_has_no_gateway_code(error_codes, ours, advice):
    outcome = codes.outcome_of_refusal(error_codes)

    assert (outcome.code, outcome.advice, outcome.gateway_code) == (ours, advice, "")
    assert codes.blocking(error_codes) == []


@pytest.mark.parametrize(
    "error_code",
    [
        "processing_channel_id_required", "processing_channel_id_invalid", "business_not_found", "channel_inactive",
        "success_url_required", "no_authorization_enabled_processors_available", "api_calls_quota_exceeded",
        "3ds_not_configured", "3ds_not_supported", "3ds_version_invalid",
    ],
)  # fmt: skip
def test_fault_of_our_account_blocks(error_code):
    assert codes.blocking(["card_expired", error_code]) == [error_code]
