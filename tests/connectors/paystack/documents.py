"""What Paystack publishes: its OpenAPI document and its samples, found beside the project."""

import json
import os
import re
from functools import lru_cache
from pathlib import Path

import jsonschema
import yaml

PROJECT = Path(__file__).resolve().parents[3]
FOLDER = Path(os.environ.get("PROVIDER_DOCUMENTS") or PROJECT.parent / "shared" / "providers") / "paystack"
MISSING = f"Paystack's documents are not in {FOLDER} (PROVIDER_DOCUMENTS)"

# Members that samples lack: docs/payments/gateway-responses and verify-payments, /bank, and the OpenAPI document.
NEWER = {
    "gateway_response_code",
    "response_code",
    "nip_sort_code",
    "transaction_reference",
    "bank_id",
    "dedicated_accounts",
}

SAMPLES = {  # our operation: names of its samples, the first of which is its own
    "POST /charge": "api.charges.",
    "GET /charge/{reference}": "api.charges.",
    "POST /charge/submit_pin": "api.charges.",
    "POST /charge/submit_otp": "api.charges.",
    "POST /charge/submit_phone": "api.charges.",
    "POST /charge/submit_birthday": "api.charges.",
    "POST /charge/submit_address": "api.charges.",
    "GET /transaction/verify/{reference}": "api.transactions.verify.",
    "GET /transaction/{id}": "api.transactions.fetch.",
    "GET /transaction": "api.transactions.list.",
    "POST /transaction/initialize": "api.transactions.initialize.",
    "POST /customer": "api.customers.create.",
    "GET /customer/{code}": "api.customers.fetch.",
    "POST /customer/{code}/identification": "api.customers.id_validation.",
    "POST /dedicated_account": "api.dedicated-virtual-account.create.",
    "GET /dedicated_account": "api.dedicated-virtual-account.list.",
    "DELETE /dedicated_account/{id}": "api.dedicated-virtual-account.deactivate.",
    "POST /dedicated_account/assign": "api.dedicated-virtual-account.assign.",
    "GET /dedicated_account/available_providers": "api.dedicated-virtual-account.providers.",
    "GET /dedicated_account/requery": "api.dedicated-virtual-account.requery.",
    "GET /bank": "api.miscellaneous.bank.",
    "GET /bank/resolve": "api.verification.resolve-account.",
    "POST /transferrecipient": "api.transfer-recipient.create.",
    "POST /transfer": "api.transfers.initiate.",
    "GET /transfer": "api.transfers.list.",
    "GET /transfer/verify/{reference}": "api.transfers.verify.",
    "GET /balance": "api.transfers-control.balance.",
    "GET /balance/ledger": "api.transfers-control.balance-ledger.",
    "POST /refund": "api.refunds.create.",
    "GET /refund": "api.refunds.list.",
    "GET /refund/{id}": "api.refunds.fetch.",
    "POST /refund/retry_with_customer_details/{id}": "api.refunds.retry.",
    "GET /settlement": "api.settlements.list.",
    "GET /settlement/{id}/transactions": "api.settlements.transactions.",
    "GET /dispute": "api.disputes.list.",
    "GET /dispute/{id}": "api.disputes.fetch.",
    "PUT /dispute/{id}/resolve": "api.disputes.resolve.",
    "POST /dispute/{id}/evidence": "api.disputes.evidence.",
    "GET /dispute/{id}/upload_url": "api.disputes.upload-url.",
}


def are_here():
    return FOLDER.is_dir()


@lru_cache(maxsize=1)
def _openapi():
    with (FOLDER / "openapi.yaml").open() as file:
        return yaml.load(file, Loader=yaml.CSafeLoader)


@lru_cache(maxsize=1)
def _samples():
    return {path.name: json.loads(path.read_text()) for path in sorted((FOLDER / "samples").glob("*.json"))}


def operation(method, path):
    """Return our operation of a call, with its parameters named."""
    found = (name for name in SAMPLES if _pattern(name).fullmatch(f"{method} {path}"))
    return min(found, key=lambda name: name.count("{"))


@lru_cache(maxsize=128)
def _pattern(name):
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(name)))


def complaints(method, path, status, answer):
    """Say how an answer differs from the OpenAPI document and from every sample. Empty if it agrees with one of both."""
    name = operation(method, path)
    schema = _schema(name, status)
    if schema is not None and status < 400 and _validator(name, status).is_valid(answer):
        return []
    return _differences(answer, _shape_of(SAMPLES[name], is_error=status >= 400), "answer")


def sampled_events():
    return {document["event"] for document in _samples().values() if "event" in document}


def event_complaints(event, data):
    return _differences({"event": event, "data": data}, _shape_of_event(event), "event")


@lru_cache(maxsize=256)
def _validator(name, status):
    schema = _schema(name, status)
    return jsonschema.Draft4Validator(_nullable({"components": _openapi()["components"], **schema}))


def _schema(name, status):
    method, path = name.split()
    operation = _openapi()["paths"].get(path, {}).get(method.lower(), {})
    answer = _resolved(operation.get("responses", {}).get(str(status), {}))
    return answer.get("content", {}).get("application/json", {}).get("schema")


def _resolved(part):
    while "$ref" in part:
        target = _openapi()
        for step in part["$ref"].removeprefix("#/").split("/"):
            target = target[step]
        part = target
    return part


def _nullable(part):
    """Return a schema of OpenAPI 3.0 as JSON Schema."""
    if isinstance(part, list):
        return [_nullable(each) for each in part]
    if not isinstance(part, dict):
        return part
    known = {name: _nullable(value) for name, value in part.items()}
    if known.get("nullable") is True and "type" in known:
        known["type"] = [known["type"], "null"]
    return known


@lru_cache(maxsize=256)
def _shape_of(prefix, *, is_error):
    found = [document for name, document in _samples().items() if name.startswith(prefix)]
    bodies = [case["data"] for document in found for case in document.values() if "data" in case]
    if is_error:
        refused = [body for document in _samples().values() for body in _refused(document)]
        return _merged([*refused, _samples()["api.introduction.sample-error.index.json"]])
    if prefix == "api.charges.":
        bodies.append(_samples()["doc.payments.payment-methods.pwt.index.json"])
    shape = _merged(bodies)
    shape["members"]["meta"] = _merged(_all("meta"))
    return shape


def _all(member):
    """Return every object with this name in any sample."""
    parts, found = list(_samples().values()), []
    while parts:
        part = parts.pop()
        parts += list(part.values()) if isinstance(part, dict) else part if isinstance(part, list) else []
        if isinstance(part, dict) and part.get(member):
            found.append(part[member])
    return found


@lru_cache(maxsize=1)
def _authorizations():
    """Return the shape of an authorization: it depends on the channel, and not on the operation."""
    return _merged(_all("authorization"))


def _refused(document):
    cases = document.values() if isinstance(document, dict) else []
    return [
        case["data"]
        for case in cases
        if isinstance(case, dict)
        and isinstance(case.get("data"), dict)
        and case["data"].get("status") is False
        and "data" not in case["data"]
    ]


@lru_cache(maxsize=64)
def _shape_of_event(event):
    samples = [document for document in _samples().values() if document.get("event") == event]
    if event == "refund.needs-attention":  # has no sample; it is said to have an id
        pending = next(
            document for document in _samples().values() if document.get("event") == "refund.pending"
        )
        samples = [{"event": event, "data": pending["data"] | {"id": "1"}}]
    return _merged(samples)


def _merged(values):
    """Return the shape that values have in common: their types, and for objects the members that all or some have."""
    objects = [value for value in values if isinstance(value, dict)]
    lists = [each for value in values if isinstance(value, list) for each in value]
    names = {name for value in objects for name in value}
    return {
        "types": {_type(value) for value in values},
        "members": {name: _merged([value[name] for value in objects if name in value]) for name in names},
        "required": {name for name in names if all(name in value for value in objects)},
        "items": _merged(lists) if lists else None,
        "is_open": any(value == {} for value in objects),
    }


def _type(value):
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def _differences(value, shape, where):
    """Compare a value with a shape. Null stands for any type, and what a sample leaves empty can be anything."""
    if value is None or where.endswith(".metadata"):
        return []
    if _type(value) not in shape["types"] and shape["types"] != {"NoneType"}:
        return [f"{where} is {_type(value)}, not {' or '.join(sorted(shape['types']))}"]
    if where.endswith(".authorization") and value:
        shape = _authorizations()
    if isinstance(value, dict) and shape["members"]:
        missing = shape["required"] - set(value) if value or not shape["is_open"] else set()
        unknown = set() if shape["is_open"] else set(value) - set(shape["members"]) - NEWER
        inner = [
            d
            for name in value
            if name in shape["members"]
            for d in _differences(value[name], shape["members"][name], f"{where}.{name}")
        ]
        return [
            *(f"{where} lacks {name}" for name in sorted(missing)),
            *(f"{where} has {name}" for name in sorted(unknown)),
            *inner,
        ]
    if isinstance(value, list) and shape["items"]:
        return [d for each in value for d in _differences(each, shape["items"], f"{where}[]")]
    return []


def request_complaints(method, path, body):
    """Say how the body of a request differs from the OpenAPI document. Empty if it agrees."""
    operation = _openapi()["paths"][path][method.lower()]
    schema = _resolved(operation["requestBody"])["content"]["application/json"]["schema"]
    whole = {"components": _openapi()["components"], **schema}
    known = _properties(schema)
    errors = [error.message for error in jsonschema.Draft4Validator(whole).iter_errors(body)]
    return errors + [f"{name} is unknown" for name in body if name not in known]


def _properties(schema):
    found = _resolved(schema)
    own = dict(found.get("properties", {}))
    for part in found.get("allOf", ()):
        own |= _properties(part)
    return own


def sample(name, status):
    """Return a published sample of an answer."""
    return _samples()[f"{name}.response.json"][str(status)]["data"]


def event(name):
    """Return a published sample of an event."""
    return next(document for document in _samples().values() if document.get("event") == name)
