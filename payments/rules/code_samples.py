r"""Code samples of API calls in curl, Python and Node. Guides, the API reference and the Sandbox page show the same ones.

Python and Node samples call the method of our client that makes the call, or `client.call` if there is none. All
samples read the address and the keys from SLUICE_BASE_URL, SLUICE_API_KEY and SLUICE_SECRET_KEY.

>>> print(sample(SampleCall("POST", "/api/payments/order-1042/capture", {"amount": 50000}), "python"))
from sluice import Sluice
<BLANKLINE>
client = Sluice.from_env()
payment = client.payments.capture("order-1042", 50000)
print(payment.status, payment.response_code, payment.response_summary)
>>> print(sample(SampleCall("GET", "/api/payments?limit=20"), "node"))
import { Sluice } from "sluice-client";
<BLANKLINE>
const client = Sluice.fromEnv();
for await (const payment of await client.payments.list({ limit: 20 })) {
  console.log(payment.reference, payment.status);
}
>>> print(sample(SampleCall("GET", "/api/banks"), "curl"))
# In the project's directory. Elsewhere, install the Python client and write sluice.
headers=$(.venv/bin/sluice sign GET /api/banks) &&
  printf '%s\n' "$headers" |
  curl -H @- "$SLUICE_BASE_URL/api/banks"
"""

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from kit.money.money import has_minor_unit, money
from kit.text.code_literals import JSON, NODE, PYTHON, Language, Member
from payments.rules.client_methods import ANSWER, PYTHON_NAMES, ClientMethod, Found, method_of

BASE_URL = "$SLUICE_BASE_URL"
SLUICE, SLUICE_OF_PROJECT = "sluice", ".venv/bin/sluice"  # in production; in the directory of a sandbox
WHOLE_NUMBERS = {"limit"}  # parameters of lists


@dataclass(frozen=True, slots=True)
class SampleCall:
    """A call of the API. `target` is a path, percent-encoded, with or without a query."""

    method: str
    target: str
    body: Mapping[str, Any] | None = None


def sample(call: SampleCall, language: str, *, is_sandbox: bool = True) -> str:
    """Return the source code that makes a call, without a line feed at its end.

    In a sandbox, curl samples sign with the `sluice` of the project's directory, otherwise with an installed one.

    :raises KeyError: the language is not one of `LANGUAGES`
    """
    return "\n".join(LANGUAGES[language](call, is_sandbox=is_sandbox))


# curl -------------------------------------------------------------------------------------------------


def _curl(call: SampleCall, *, is_sandbox: bool) -> Iterator[str]:
    method = call.method.upper()
    sign = shlex.join([SLUICE_OF_PROJECT if is_sandbox else SLUICE, "sign", method, call.target])
    if call.body is not None:
        yield f"body={shlex.quote(JSON.write(call.body, column=len('body=')))}"
        yield ""
        sign = f'printf %s "$body" |\n  {sign} --body -'
    if is_sandbox:
        yield "# In the project's directory. Elsewhere, install the Python client and write sluice."
    yield f"headers=$({sign}) &&"
    lines = [" ".join(["curl", *_curl_options(call, method), _url(call.target)])]
    if call.body is not None:
        lines += ['-H "Content-Type: application/json"', '-d "$body"']
    yield "  printf '%s\\n' \"$headers\" |"
    yield "  " + " \\\n    ".join(lines)


def _curl_options(call: SampleCall, method: str) -> Iterator[str]:
    if re.search(r"[][{}]", call.target):
        yield "--globoff"
    if method != ("GET" if call.body is None else "POST"):
        yield f"-X {method}"
    yield "-H @-"


def _url(target: str) -> str:
    """Return the address for a shell, with a variable that the shell expands."""
    if re.fullmatch(r"[\w/.~:?&=%+,-]*", target, re.ASCII):
        return f'"{BASE_URL}{target}"'
    return f'"{BASE_URL}"{shlex.quote(target)}'


# Our clients ------------------------------------------------------------------------------------------

FALLBACK = ClientMethod("call", "", "", ANSWER, is_whole=True)


def _python(call: SampleCall, **_: bool) -> Iterator[str]:
    found = _found(call)
    result = found.method.result.name
    yield "from sluice import Sluice"
    yield ""
    yield "client = Sluice.from_env()"
    if found.method.is_list:
        yield _python_call(f"for {result} in ", found) + ":"
        yield f"    print({_shown(found)})"
    else:
        yield _python_call(f"{result} = ", found)
        yield f"print({_shown(found)})"


def _python_call(start: str, found: Found) -> str:
    start += f"client.{found.method.name}("
    if found.method.is_whole:
        return _with_object(start, found, "body=" if found.method is FALLBACK else "", language=PYTHON)
    named = found.named or {}
    arguments = [
        Member(f"{PYTHON_NAMES.get(name, name)}=", value, _comment(name, named))
        for name, value in named.items()
    ]
    return PYTHON.enclose(start, [*(Member("", value) for value in found.values), *arguments], ")")


def _node(call: SampleCall, **_: bool) -> Iterator[str]:
    found = _found(call)
    result = found.method.result.name
    yield 'import { Sluice } from "sluice-client";'
    yield ""
    yield "const client = Sluice.fromEnv();"
    if found.method.is_list:
        awaited = "await " if found.method.has_pages else ""
        yield _node_call(f"for {awaited}(const {result} of ", found) + ") {"
        yield f"  console.log({_shown_in_node(found)});"
        yield "}"
    else:
        yield _node_call(f"const {result} = ", found) + ";"
        yield f"console.log({_shown_in_node(found)});"


def _node_call(start: str, found: Found) -> str:
    start += f"await client.{_in_camel_case(found.method.name)}("
    return _with_object(start, found, "undefined, " if found.method is FALLBACK else "", language=NODE)


def _with_object(opening: str, found: Found, before: str, *, language: Language) -> str:
    """Write a call whose last argument is an object, or has none if no field is named."""
    values = [language.write(value) for value in found.values]
    if found.named is None or (not found.named and not found.method.is_whole):
        return f"{opening}{', '.join(values)})"
    members = [
        Member(f"{language.name(name)}: ", value, _comment(name, found.named))
        for name, value in found.named.items()
    ]
    opening = "".join([opening, *(f"{value}, " for value in values), before, "{"])
    return language.enclose(opening, members, "})", pad=language.pad)


def _found(call: SampleCall) -> Found:
    """Return the method that makes a call, or the one for all calls if a name in the query comes twice."""
    parts, method = urlsplit(call.target), call.method.upper()
    pairs = parse_qsl(parts.query, keep_blank_values=True)
    query = {
        name: int(value) if name in WHOLE_NUMBERS and value.isdecimal() else value for name, value in pairs
    }
    found = method_of(method, parts.path, query, call.body) if len(query) == len(pairs) else None
    return found or Found(FALLBACK, (method, call.target), call.body)


def _shown(found: Found) -> str:
    """Return what a sample prints. A payment with 3-D Secure may have an address to send the payer to."""
    result = found.method.result
    shows = list(result.shows)
    if result.name == "payment" and "3ds" in (found.named or {}):
        shows[-1] = "redirect_link"
    return ", ".join(f"{result.name}.{field}" for field in shows) or result.name


def _shown_in_node(found: Found) -> str:
    """Return what a sample prints. TypeScript knows that a nested object may be absent.

    >>> request = {"request_type": "payment", "payment_method": "virtual_account"}
    >>> print(sample(SampleCall("POST", "/api/payments", request), "node").splitlines()[-1])
    console.log(payment.status, payment.virtual_account_details?.account_number);
    """
    return re.sub(r"\b(\w+\.\w+)\.", r"\1?.", _shown(found))


def _comment(name: str, fields: Mapping[str, Any]) -> str:
    """Return an amount as people read it. Empty for everything else."""
    value, currency = fields[name], fields.get("currency")
    if name != "amount" or type(value) is not int or not isinstance(currency, str):
        return ""
    return money(value, currency) if has_minor_unit(currency) else ""


def _in_camel_case(name: str) -> str:
    """Return a name as the Node client has it.

    >>> _in_camel_case("virtual_accounts.simulate_transfer"), _in_camel_case("unapplied_transfers.return_")
    ('virtualAccounts.simulateTransfer', 'unappliedTransfers.return')
    """
    return re.sub("_([a-z])", lambda found: found[1].upper(), name).rstrip("_")


LANGUAGES: dict[str, Callable[..., Iterator[str]]] = {
    "curl": _curl,
    "python": _python,
    "node": _node,
}
