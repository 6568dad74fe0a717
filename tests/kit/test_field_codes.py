"""Every code of a field's error is in the table, and the table has no other."""

import ast
from typing import get_args

import pytest

from config.errors.problems import SPEAKING_CODES
from kit.api.fields.field_codes import FIELD_CODES, FieldCode
from kit.db.card_number_fields import MISPLACED
from tests.packages import PROJECT, modules

FORMS = {"kit/files/bounded_json.py"}  # errors of the administration's forms
PLACE_OF_CODE = {"refuse": 1, "error": 1, "fail": 0, "ErrorDetail": 1, "ValidationError": 1}
SET_BY_CLASSES = {"unknown_field"}  # `UnknownField`


def codes_in(source: str):
    """Yield the codes that calls in a module give to errors of fields."""
    for call in ast.walk(ast.parse(source)):
        if not isinstance(call, ast.Call):
            continue
        name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
        if name not in PLACE_OF_CODE or ast.unparse(call.func) == "messages.error":
            continue
        named = [keyword.value for keyword in call.keywords if keyword.arg == "code"]
        for value in [*named, *call.args[PLACE_OF_CODE[name] :]][:1]:
            if isinstance(value, ast.Constant):
                yield value.value
            elif ast.unparse(value) == "MISPLACED":
                yield MISPLACED


@pytest.fixture(scope="module")
def sent():
    """Return all codes that the source code sends."""
    of_api = [
        module
        for module in modules()
        if str(module.relative_to(PROJECT)) not in FORMS and "admin" not in str(module.relative_to(PROJECT))
    ]
    return {code for module in of_api for code in codes_in(module.read_text())} | SET_BY_CLASSES | {"invalid"}


def test_table_has_every_code_that_is_sent_and_no_other(sent):
    assert set(FIELD_CODES) == sent


def test_table_has_every_code_of_the_type():
    assert set(FIELD_CODES) == set(get_args(FieldCode))


def test_table_has_the_codes_that_all_errors_of_a_request_can_share():
    assert set(FIELD_CODES) >= SPEAKING_CODES


def test_finds_codes_in_every_form_of_call():
    source = 'self.refuse("", "a"); error("", "b"); self.fail("c"); ValidationError("", code="d"); error("", MISPLACED)'

    assert list(codes_in(source)) == ["a", "b", "c", "d", MISPLACED]
