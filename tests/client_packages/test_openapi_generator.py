"""What openapi-generator makes of the OpenAPI document, for three languages: `make test-clients ARGS=--all`."""

import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from django.core.management import call_command

from tests.client_packages.programs import run

pytestmark = [pytest.mark.clients, pytest.mark.openapi_generator]

# Reads every example of a request with the model of its operation, and writes it again.
READ_ALL = """
import json, sys
import openapi_client
for name, examples in json.load(sys.stdin).items():
    model = getattr(openapi_client, name)
    for example in examples:
        read = model.from_json(json.dumps(example))
        assert {**example, **read.to_dict()} == read.to_dict(), (name, example)
"""


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    target = tmp_path_factory.mktemp("document") / "openapi.json"
    call_command("spectacular", format="openapi-json", file=str(target))
    return target


@pytest.fixture(scope="module")
def generate(document, tmp_path_factory):
    if shutil.which("java") is None:
        pytest.fail("Install Java 11 or newer: openapi-generator runs on it.")

    def generated(language):
        folder = tmp_path_factory.mktemp(language)
        command = (Path(sys.executable).with_name("openapi-generator-cli"), "generate")
        printed = run(*command, "-i", document, "-g", language, "-o", folder, cwd=folder)
        assert not re.findall("^.*ERROR.*$", printed, re.MULTILINE)
        return folder

    return generated


@pytest.mark.parametrize("language", ["java", "php"])
def test_generates_without_an_error(generate, language):
    assert any(generate(language).iterdir())


def test_python_reads_each_kind_of_request(generate, document):
    described = json.loads(document.read_text())
    requests = {}
    for path in described["paths"].values():
        for operation in path.values():
            for content in operation.get("requestBody", {}).get("content", {}).values():
                name = content["schema"]["$ref"].rpartition("/")[2]
                schema = described["components"]["schemas"][name]
                if not (schema.get("properties") or schema.get("oneOf")):
                    continue  # an empty object, for which there is no model
                examples = [each["value"] for each in content.get("examples", {}).values()]
                requests.setdefault(name, []).extend(examples)
    assert sum(map(len, requests.values())) > len(requests) > 10

    run(sys.executable, "-c", READ_ALL, cwd=generate("python"), body=json.dumps(requests).encode())
