"""Samples make the calls that they show, with the methods of our clients."""

import json
import os
import shlex
import subprocess
from urllib.parse import parse_qsl, urlsplit

import pytest
from drf_spectacular.generators import SchemaGenerator
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sluice import Sluice

from config.environment.env import PROJECT
from payments.rules.client_methods import METHODS
from payments.rules.code_samples import LANGUAGES, SampleCall, sample

CARD = {"request_type": "payment", "payment_method": "card"}
SURFACE = {
    f"{group}.{name}": method
    for group, methods in json.loads((PROJECT / "clients" / "surface.json").read_text())["groups"].items()
    for name, method in methods.items()
}
OF_SEVERAL_CALLS = {"payments.wait", "sandbox.play", "sandbox.listener"}  # have no sample


@pytest.fixture(scope="module")
def document():
    return SchemaGenerator().get_schema(request=None, public=True)


def calls_of(document):
    """Yield the id and an example call of each operation, once for each example of its body."""
    for path, operations in document["paths"].items():
        for verb, operation in operations.items():
            target = path.replace("{", "an-").replace("}", "")
            content = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
            for example in content.get("examples", {"": {"value": None}}).values():
                yield operation["operationId"], SampleCall(verb.upper(), target, example["value"])


class Sent(Exception):
    """Raised in place of an answer, with the request."""


class Recorder:
    """A transport that sends nothing."""

    def send(self, request):
        raise Sent(request)


@pytest.fixture
def sent_by(monkeypatch):
    """Return a function that runs a Python sample and returns the method, target and body that our client sends."""
    client = Sluice("https://pay.example", "pk_test", "sk_test", transport=Recorder())
    monkeypatch.setattr(Sluice, "from_env", lambda: client)

    def run(code):
        with pytest.raises(Sent) as sent:
            exec(code, {})  # noqa: S102
        (request,) = sent.value.args
        return request.method, request.target, json.loads(request.body) if request.body else None

    return run


def body_sent(call):
    """Return the body that a call must arrive with: our client leaves out what is always so."""
    if call.body is None:
        return None
    return {
        name: value
        for name, value in (call.body or {}).items()
        if (name, value) != ("account_type", "individual")
    }


def test_python_samples_make_each_call_of_the_api(document, sent_by):
    for _, call in calls_of(document):
        method, target, body = sent_by(sample(call, "python"))

        assert (method, target) == (call.method, call.target)
        assert body == body_sent(call)


class TestTable:
    """Compared with what both clients are tested to have."""

    def test_makes_every_call_that_one_method_makes(self, document):
        made = {name for name, call in calls_of(document) if "client.call(" not in sample(call, "python")}
        possible = {
            operation
            for name, method in SURFACE.items()
            if name not in OF_SEVERAL_CALLS
            for operation in method["operations"]
        }

        assert made == possible

    def test_has_every_method_that_makes_one_call(self):
        assert {method.name.removesuffix("_") for method in METHODS} == SURFACE.keys() - OF_SEVERAL_CALLS

    def test_has_methods_that_exist_with_their_operations(self, document):
        for method in METHODS:
            operation = document["paths"][method.path][method.verb.lower()]["operationId"]

            assert operation in SURFACE[method.name.removesuffix("_")]["operations"]

    def test_has_fields_that_their_methods_have(self):
        for method in METHODS:
            known = SURFACE[method.name.removesuffix("_")]
            named = {*(method.takes or ())} - {*method.positional}

            assert named <= {*known.get("fields", ())}
            assert {*method.positional} <= {*known.get("arguments", ()), *known.get("sets", ())}


def test_node_samples_use_the_same_methods(document):
    for _, call in calls_of(document):
        python, node = (sample(call, language).partition("client = ")[2] for language in ("python", "node"))

        python_name, node_name = (code.partition("client.")[2].partition("(")[0] for code in (python, node))
        assert node_name == in_camel_case(python_name)


def in_camel_case(name):
    first, *others = name.removesuffix("_").split("_")
    return first + "".join(other.capitalize() for other in others)


def test_samples_of_3d_secure_print_the_address_for_the_payer():
    body = {"request_type": "payment", "payment_method": "card", "reference": "order-1042"}

    for language in ("python", "node"):
        for is_checked in (True, False):
            more = {"3ds": {"enabled": True}} if is_checked else {}
            code = sample(SampleCall("POST", "/api/payments", body | more), language)
            assert ("payment.redirect_link" in code) == is_checked


@pytest.mark.parametrize("language", LANGUAGES)
def test_samples_have_no_long_lines(document, language):
    lines = [line for _, call in calls_of(document) for line in sample(call, language).splitlines()]

    assert [line for line in lines if len(line) > 88 and "client.call(" not in line] == []


class TestPython:
    KNOWN = st.sampled_from(
        ["reference", "amount", "currency", "narration", "metadata", "source", "3ds", "customer"]
    )
    UNKNOWN = st.sampled_from(["", "class", "two words", "a-b", "ключ", "ﬁ"])
    VALUES = st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(st.characters(codec="utf-8"), max_size=20),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
        max_leaves=8,
    )
    BODIES = st.dictionaries(KNOWN, VALUES, max_size=6) | st.dictionaries(KNOWN | UNKNOWN, VALUES, max_size=4)

    @pytest.mark.long
    @settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(body=BODIES, amount=st.integers())
    def test_samples_send_exactly_their_body(self, sent_by, body, amount):
        body = CARD | body | {"amount": amount}

        assert sent_by(sample(SampleCall("POST", "/api/payments", body), "python"))[2] == body

    @pytest.mark.parametrize("method", ["POST", "PATCH"])
    def test_calls_without_a_method_send_exactly_their_body(self, sent_by, method):
        body = {"class": None, "3ds": [True, {"text": "\"quoted\"\n'lines'\\"}]}

        code = sample(SampleCall(method, "/api/newer?a=b", body), "python")

        assert sent_by(code) == (method, "/api/newer?a=b", body)

    def test_null_removes_a_value_of_a_link(self, sent_by):
        code = sample(SampleCall("PATCH", "/api/payment-links/a", {"expires_at": None}), "python")

        assert "client.payment_links.update(" in code
        assert sent_by(code)[2] == {"expires_at": None}

    @pytest.mark.parametrize(
        "target",
        [
            "/api/payments?limit=5&status=failed&created_from=2026-11-01T00%3A00%3A00Z",
            "/api/payments?status=failed&status=success",
            "/api/payments?class=a&status=",
            "/api/payments/a%20b%3Ac",
            "/api/payments/order-1042/refunds?limit=5",
        ],
    )
    def test_targets_arrive_with_the_same_values(self, sent_by, target):
        method, sent, _ = sent_by(sample(SampleCall("GET", target), "python"))

        assert method == "GET"
        assert [urlsplit(each).path.replace("%3A", ":") for each in (sent, target)] == [
            urlsplit(sent).path
        ] * 2
        assert parse_qsl(urlsplit(sent).query, keep_blank_values=True) == parse_qsl(
            urlsplit(target).query, keep_blank_values=True
        )

    def test_amounts_are_explained(self):
        body = CARD | {"reference": "a", "amount": 725000, "currency": "NGN"}

        assert "    amount=725000,  # NGN 7,250.00\n" in sample(
            SampleCall("POST", "/api/payments", body), "python"
        )
        assert "  amount: 725000, // NGN 7,250.00\n" in sample(
            SampleCall("POST", "/api/payments", body), "node"
        )

    @pytest.mark.parametrize("currency", ["XAU", "nonsense", 5, None])
    def test_amounts_without_a_minor_unit_are_not(self, currency):
        body = CARD | {"amount": 725000, "currency": currency}

        assert "725000," in sample(SampleCall("POST", "/api/payments", body), "node")


class TestCurl:
    @pytest.fixture
    def folder(self, tmp_path):
        """A project's directory with a `sluice` and a `curl` that write down what they get."""
        for name, script in {
            ".venv/bin/sluice": 'cat > signed; echo "$*" > sluice; echo "X-Nonce: 1"; exit "${FAILS:-0}"',
            "bin/curl": 'cat > headers; printf "%s\\0" "$@" > curl',
        }.items():
            program = tmp_path / name
            program.parent.mkdir(parents=True)
            program.write_text(f"#!/bin/sh\n{script}\n")
            program.chmod(0o755)
        return tmp_path

    def paste(self, folder, code, **variables):
        environment = os.environ | {
            "PATH": f"{folder}/bin:{os.environ['PATH']}",
            "SLUICE_BASE_URL": "http://x",
        }
        subprocess.run(
            ["bash", "-c", code],
            cwd=folder,
            env=environment | variables,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def test_signs_and_sends_the_same_text(self, folder):
        body = {"text": 'it\'s "quoted" $HOME `date` \\ \n é 😀'}

        self.paste(folder, sample(SampleCall("POST", "/api/payments", body), "curl"))

        *options, sent, _ = (folder / "curl").read_text().split("\0")
        assert options == ["-H", "@-", "http://x/api/payments", "-H", "Content-Type: application/json", "-d"]
        assert (folder / "headers").read_text() == "X-Nonce: 1\n"
        assert (folder / "sluice").read_text() == "sign POST /api/payments --body -\n"
        assert (folder / "signed").read_text() == sent
        assert json.loads(sent) == body

    @pytest.mark.parametrize("body", [None, {"amount": 1}])
    def test_sends_nothing_if_the_signing_fails(self, folder, body):
        self.paste(folder, sample(SampleCall("POST", "/api/payments", body), "curl"), FAILS="1")

        assert (folder / "sluice").exists()
        assert not (folder / "curl").exists()

    def test_names_the_installed_program_in_production(self):
        code = sample(SampleCall("GET", "/api/banks"), "curl", is_sandbox=False)

        assert code.startswith("headers=$(sluice sign GET /api/banks) &&\n")

    @pytest.mark.parametrize(
        ("call", "options"),
        [
            (SampleCall("GET", "/api/banks"), ["-H", "@-"]),
            (SampleCall("post", "/api/payments/a/void"), ["-X", "POST", "-H", "@-"]),
            (SampleCall("GET", "/api/payments?id=[1]"), ["--globoff", "-H", "@-"]),
        ],
    )
    def test_names_the_method_where_curl_would_use_another(self, call, options):
        words = shlex.split(sample(call, "curl"), comments=True)

        assert words[words.index("curl") + 1 : -1] == options
        assert words[-1] == f"$SLUICE_BASE_URL{call.target}"


def test_an_unknown_language_is_refused():
    with pytest.raises(KeyError):
        sample(SampleCall("GET", "/api/banks"), "cobol")
