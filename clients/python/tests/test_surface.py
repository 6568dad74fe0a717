"""The methods and arguments of this client are those of clients/surface.json, which the Node client has too."""

import inspect
import json
import keyword
import re
from pathlib import Path

import pytest

from sluice import OutcomeUnknown, Sluice, _models
from sluice.resources import WIRE, Resource

SURFACE = json.loads(Path(__file__, "../../../surface.json").resolve().read_text())
WIRE_BACK = {wire: name for name, wire in WIRE.items()}
METHODS = [(group, name) for group, methods in SURFACE["groups"].items() for name in methods]


@pytest.fixture(scope="module")
def groups():
    client = Sluice("http://127.0.0.1", "pk", "sk")
    return {name: value for name, value in vars(client).items() if isinstance(value, Resource)}


def _methods(group):
    return {name for name, _ in inspect.getmembers(group, inspect.ismethod) if not name.startswith("_")}


def _python(name):
    """Return a method's name in Python: `return` is a keyword.

    >>> _python("return"), _python("get")
    ('return_', 'get')
    """
    return f"{name}_" if keyword.iskeyword(name) else name


def _parameters(method):
    """Return the names of positional parameters, and of keyword arguments as the API names them."""
    positional, keywords = [], []
    for parameter in inspect.signature(method).parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            (kind,) = re.fullmatch(r"Unpack\[models\.(\w+)\]", parameter.annotation).groups()
            keywords += getattr(_models, kind).__annotations__
        elif parameter.kind is parameter.KEYWORD_ONLY:
            keywords.append(parameter.name)
        else:
            positional.append(parameter.name)
    return positional, {WIRE.get(name, name) for name in keywords}


def test_has_the_groups_and_methods_of_the_surface(groups):
    assert {name: _methods(group) for name, group in groups.items()} == {
        group: {_python(name) for name in methods} for group, methods in SURFACE["groups"].items()
    }


def test_has_the_arguments_of_the_surface(subtests, groups):
    for group, name in METHODS:
        with subtests.test(group=group, name=name):
            expected = SURFACE["groups"][group][name]
            positional, keywords = _parameters(getattr(groups[group], _python(name)))

            assert positional == expected.get("arguments", [])
            assert keywords == set(expected.get("fields", []))


def test_has_a_line_in_the_readme_for_every_call():
    lines = Path(__file__, "../../README.md").resolve().read_text().splitlines()
    told = {(match[1], line) for line in lines if (match := re.match(r"\| `(\w+)\.", line))}

    missing = [
        f"{group}.{name}"
        for group, name in METHODS
        if not any(group == each and f".{_python(name)}(" in line for each, line in told)
    ]
    assert missing == []


def test_is_made_and_called_as_the_surface_says():
    factories = {
        name: [each for each in inspect.signature(getattr(Sluice, name)).parameters if each != "options"]
        for name in dir(Sluice)
        if name.startswith("from_")
    }

    assert factories == SURFACE["factories"]
    assert list(inspect.signature(Sluice.call).parameters)[1:] == SURFACE["call"]


class Lost:
    """A transport whose answers are all lost."""

    def __init__(self):
        self.sent = 0

    def send(self, request):
        self.sent += 1
        raise OutcomeUnknown("The answer is lost.")


@pytest.mark.parametrize(
    ("group", "name"),
    [(group, name) for group, name in METHODS if len(SURFACE["groups"][group][name]["operations"]) == 1],
    ids=lambda each: each,
)
def test_repeats_after_a_lost_answer_what_the_surface_says(group, name):
    method = SURFACE["groups"][group][name]
    given = {"request": {"reference": "r"}, "timeout": 1, "changes": None}
    transport = Lost()
    client = Sluice("http://127.0.0.1", "pk", "sk", transport=transport)
    client._caller._sleep = lambda seconds: None

    with pytest.raises(OutcomeUnknown):
        getattr(getattr(client, group), _python(name))(
            *[given.get(each, "x") for each in method.get("arguments", ())],
            **{WIRE_BACK.get(field, field): "x" for field in method.get("fields", ())},
        )

    assert transport.sent == (1 if method.get("once") else 3)
