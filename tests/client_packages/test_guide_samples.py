"""The Node samples of the guides get the responses that their guides show."""

import json
import os
import subprocess
from contextlib import contextmanager

import pytest

from tests.client_packages.programs import run as run_program
from tests.docs.flows import GUIDES, Answer, approve, blocks, code_of, filled, of_new_business, play

pytestmark = pytest.mark.clients

# Runs each module that is named on standard input, and then prints the last response's text, which samples don't.
RUNNER = """
import { createInterface } from "node:readline";
const { fetch } = globalThis;
let text = "";
globalThis.fetch = async (...request) => {
  const answer = await fetch(...request);
  text = await answer.clone().text();
  return answer;
};
for await (const name of createInterface(process.stdin)) {
  await import(name);
  console.log(`RESPONSE ${JSON.stringify(text)}`);
}
"""


@pytest.fixture
def variables(service):
    """The keys of a new business: guides show its balance."""
    return of_new_business(service)


@pytest.fixture
def project(node_client, tmp_path):
    """A project that has our client installed."""
    package = tmp_path / "node_modules" / "sluice-client"
    package.mkdir(parents=True)
    (package / "package.json").write_text('{"type": "module", "exports": "./index.js"}')
    (package / "index.js").write_text(f'export * from "{node_client}/build/src/index.js";')
    (tmp_path / "runner.mjs").write_text(RUNNER)
    return tmp_path


@contextmanager
def node(project, variables):
    """Start Node, and give a function that runs a module and returns the text of the last response."""
    process = subprocess.Popen(
        ["node", "runner.mjs"],
        cwd=project,
        env=os.environ | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield lambda code: _run(process, project, code)
        process.stdin.close()


def _run(process, project, code):
    modules = len(list(project.glob("sample-*.mjs")))
    module = project / f"sample-{modules}.mjs"
    module.write_text(code)
    print(f"./{module.name}", file=process.stdin, flush=True)
    for line in process.stdout:
        if line.startswith("RESPONSE "):
            return json.loads(line.removeprefix("RESPONSE "))
    return pytest.fail(f"Node ended with {process.wait()}:\n{code}")


@pytest.mark.parametrize("guide", GUIDES)
def test_node_samples_get_the_same_responses(guide, project, variables):
    with node(project, variables) as run:

        def send(line, body, before):
            return Answer(0, json.loads(run(filled(code_of("Node", line, body), before))))

        play(guide, send, approve)


STRICT = [
    "--noEmit",
    "--strict",
    "--noUncheckedIndexedAccess",
    "--module",
    "nodenext",
    "--target",
    "es2022",
    "--lib",
    "es2023",
]


def test_node_samples_are_valid_in_strict_typescript(node_client, project):
    package = project / "node_modules" / "sluice-client"
    (package / "index.d.ts").write_text(f'export * from "{node_client}/src/index.js";')
    (project / "package.json").write_text('{"type": "module"}')
    requests = [each for guide in GUIDES for each in blocks(guide) if not each[0].startswith("HTTP/1.1 ")]
    for number, (line, body) in enumerate(requests):
        (project / f"sample-{number}.ts").write_text(code_of("Node", line, body))
    types = ["--typeRoots", str(node_client / "node_modules" / "@types"), "--types", "node"]

    tsc = node_client / "node_modules" / ".bin" / "tsc"
    run_program(tsc, *STRICT, *types, *sorted(map(str, project.glob("sample-*.ts"))))
