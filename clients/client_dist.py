"""Build the packages of both clients and use them as their users will: `make client-dist`.

Each package is built twice, with equal hashes, held to its size, installed into an empty environment without any other
package, and plays a scenario against a sandbox. The packages are then in `build/client-dist`. As long as licence or
project addresses are placeholders, they are in `build/client-dist-unlicensed` and the command ends with 1: nothing may be
released without a licence. `--without-licence` ends with 0, for tests of the packages.
"""

import argparse
import hashlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tomllib
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
PYTHON, NODE = PROJECT / "clients" / "python", PROJECT / "clients" / "node"
LARGEST = {".whl": 150 * 1024, ".tgz": 80 * 1024}  # bytes
PLACEHOLDER, PLACEHOLDER_DOMAIN = "LicenseRef-Undecided", ".example/"
SCENARIO = "payment.3ds.approved"
START_SECONDS = 120
TYPESCRIPT = {
    "strict": True, "skipLibCheck": False, "noEmit": True,
    "target": "es2022", "module": "nodenext", "types": [],
}  # fmt: skip
TYPED_USE = """
import { Sluice, webhooks, type Schemas } from "sluice-client";
import { event, sign } from "sluice-client/testing";

const client = new Sluice("http://127.0.0.1:8000", "pk", "sk");
const payment = await client.payments.get("order-1");
const status: string = payment.status;
const bank: Schemas["Bank"]["code"] = "058";
// @ts-expect-error a payment has no such field
payment.statuss;
// @ts-expect-error an amount is a number
client.payments.list({ status: 3 });
// @ts-expect-error a card payment needs more
client.payments.card({ reference: "order-1" });
const found = webhooks.parse(event(), sign(event(), "whk"), "whk");
if (found.event === "payment.success") {
  const reference: string = found.data.reference;
  // @ts-expect-error the data of this event is a payment
  found.data.referense;
  console.log(status, bank, reference);
}
"""
SERVICES = {"DATABASE_URL", "REDIS_URL"}  # the sandbox needs none


class Failed(Exception):
    """A package is not as it should be."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--without-licence", action="store_true", help="end with 0 although none is decided")
    parser.add_argument("--sandbox", type=Path, metavar="DIR", help="a running one (default: start one)")
    options = parser.parse_args()
    missing = _placeholders()
    target = PROJECT / "build" / ("client-dist-unlicensed" if missing else "client-dist")
    try:
        built = [*_twice(_python_packages, target), *_twice(_node_package, target)]
        with _sandbox(options.sandbox) as folder:
            _use_in_python(next(each for each in built if each.suffix == ".whl"), folder)
            _use_in_node(next(each for each in built if each.suffix == ".tgz"), folder)
    except (Failed, subprocess.CalledProcessError) as problem:
        print(f"{problem}\n{getattr(problem, 'stderr', None) or ''}", file=sys.stderr)
        return 1
    if missing and not options.without_licence:
        print(
            f"The packages work, but must not be released yet. To do: {'; '.join(missing)}. "
            f"To try them, use those in {target}: make client-dist ARGS=--without-licence",
            file=sys.stderr,
        )
        return 1
    return 0


def _placeholders() -> list[str]:
    """Return what is to be done before a release."""
    python = tomllib.loads((PYTHON / "pyproject.toml").read_text())["project"]
    node = json.loads((NODE / "package.json").read_text())
    missing = []
    if PLACEHOLDER in (python["license"], node["license"]):
        missing.append("decide the licence and replace LicenseRef-Undecided in both packages")
    elif python["license"] != node["license"]:
        missing.append("name the same licence in both packages")
    if not any(PROJECT.glob("LICEN[CS]E*")):
        missing.append("add the licence file")
    addresses = [*python["urls"].values(), node["homepage"], node["repository"]["url"], node["bugs"]["url"]]
    if any(PLACEHOLDER_DOMAIN in address for address in addresses):
        missing.append("replace the project's addresses, which end in .example")
    return missing


def _twice(build: Callable[[Path], None], target: Path) -> Iterator[Path]:
    """Build twice, and yield the files if both times are the same, byte for byte."""
    with tempfile.TemporaryDirectory() as scratch:
        hashes = []
        for name in ("first", "second"):
            folder = Path(scratch, name)
            folder.mkdir()
            build(folder)
            hashes.append({file.name: _hash(file) for file in sorted(folder.iterdir())})
        if hashes[0] != hashes[1]:
            raise Failed(f"Two builds differ: {hashes}")
        target.mkdir(parents=True, exist_ok=True)
        for file in sorted(folder.iterdir()):
            size = file.stat().st_size
            if size > LARGEST.get(file.suffix, size):
                raise Failed(f"{file.name} has {size} bytes, more than {LARGEST[file.suffix]}.")
            print(f"{hashes[0][file.name]}  {size / 1024:.0f} KiB  {target / file.name}")
            yield Path(shutil.copy(file, target))


def _python_packages(folder: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "--directory", str(folder), cwd=PYTHON)


def _node_package(folder: Path) -> None:
    npm = _found("npm")
    if not (NODE / "node_modules").is_dir():
        _run(npm, "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=NODE)
    shutil.rmtree(NODE / "dist", ignore_errors=True)
    _run(npm, "pack", "--pack-destination", str(folder), cwd=NODE)


def _use_in_python(wheel: Path, sandbox: Path) -> None:
    """Install the wheel into an empty environment, and play a scenario by the client and by `sluice`."""
    with tempfile.TemporaryDirectory() as scratch:
        uv = shutil.which("uv") or str(PROJECT / ".tools" / "uv" / "bin" / "uv")
        environment = Path(scratch, "venv")
        _run(uv, "venv", "--quiet", "--python", sys.executable, str(environment), cwd=scratch)
        python = environment / "bin" / "python"
        _run(
            uv,
            "pip",
            "install",
            "--quiet",
            "--offline",
            "--no-index",
            "--python",
            str(python),
            str(wheel),
            cwd=scratch,
        )
        program = (
            "import importlib.metadata as metadata, sluice, sys\n"
            "assert [each.name for each in metadata.distributions()] == ['sluice-client']\n"
            "assert metadata.version('sluice-client') == sluice.__version__\n"
            "with sluice.Sluice.from_sandbox(sys.argv[1]) as client:\n"
            f"    print(client.sandbox.play({SCENARIO!r}).status)\n"
        )
        _expect("success", _run(str(python), "-I", "-c", program, str(sandbox), cwd=scratch))
        tool = [str(environment / "bin" / "sluice"), "trigger", "payment.success", "--no-wait", "--json"]
        _expect(
            "payment.success", json.loads(_run(*tool, cwd=scratch, SANDBOX_DATA=str(sandbox)))["scenario"]
        )


def _use_in_node(package: Path, sandbox: Path) -> None:
    """Install the package into an empty project, compile a program with its types, and play a scenario."""
    with tempfile.TemporaryDirectory() as scratch:
        Path(scratch, "package.json").write_text('{"type": "module"}')
        _run(_found("npm"), "install", "--no-audit", "--no-fund", "--offline", str(package), cwd=scratch)
        installed = json.loads(Path(scratch, "package-lock.json").read_text())["packages"]
        _expect(["node_modules/sluice-client"], [name for name in installed if name])
        _compile_typescript(Path(scratch))
        program = (
            'import { Sluice } from "sluice-client"; import { event } from "sluice-client/testing";'
            f"const client = Sluice.fromSandbox({json.dumps(str(sandbox))});"
            f"const played = await client.sandbox.play({json.dumps(SCENARIO)});"
            "if (!event().length) throw new Error(); console.log(played.status);"
        )
        _expect("success", _run(_found("node"), "--input-type=module", "--eval", program, cwd=scratch))


def _compile_typescript(project: Path) -> None:
    """Compile a program against the installed types alone. It fails if they are missing, wrong, or too lax."""
    if not (project / "node_modules" / "sluice-client" / "dist" / "schema.d.ts").is_file():
        raise Failed("The package has no dist/schema.d.ts, without which its types are `any`.")
    (project / "tsconfig.json").write_text(json.dumps({"compilerOptions": TYPESCRIPT, "files": ["use.ts"]}))
    (project / "use.ts").write_text(TYPED_USE)
    try:
        _run(str(NODE / "node_modules" / ".bin" / "tsc"), "--project", str(project), cwd=project)
    except subprocess.CalledProcessError as problem:
        raise Failed(f"The package's types are wrong:\n{problem.stdout}") from None


@contextmanager
def _sandbox(running: Path | None) -> Iterator[Path]:
    """Yield the folder of the running sandbox, or of one that is started for this."""
    if running is not None:
        yield running
        return
    with tempfile.TemporaryDirectory() as folder, socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
        probe.close()
        environment = {name: value for name, value in os.environ.items() if name not in SERVICES}
        environment["SANDBOX_CURRENT"] = str(Path(folder, "current"))  # other commands keep theirs
        command = [sys.executable, "manage.py", "sandbox", "--port", str(port), "--data", folder]
        with Path(folder, "log").open("wb") as log:
            process = subprocess.Popen(command, cwd=PROJECT, env=environment, stdout=log, stderr=log)
        try:
            _await(f"http://127.0.0.1:{port}/livez", process)
            yield Path(folder)
        finally:
            process.send_signal(signal.SIGINT)
            process.wait(timeout=30)


def _await(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(START_SECONDS * 10):
        if process.poll() is not None:
            break
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310  (this machine)
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise Failed("The sandbox did not start: make run")


def _run(*command: str, cwd: Path | str, **environment: str) -> str:
    """Run a program and return what it printed. Files are dated as the last commit, so that builds are repeatable."""
    dated = {"SOURCE_DATE_EPOCH": _last_commit()}
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | dated | environment, capture_output=True, text=True, check=True
    )
    return done.stdout


def _last_commit() -> str:
    command = [_found("git"), "log", "-1", "--format=%ct"]
    return subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=True).stdout.strip()


def _found(program: str) -> str:
    path = shutil.which(program)
    if path is None:
        raise Failed(f"{program} is needed and not installed.")
    return path


def _expect(wanted: object, found: object) -> None:
    found = found.strip() if isinstance(found, str) else found
    if found != wanted:
        raise Failed(f"Expected {wanted}, not {found}.")


def _hash(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


if __name__ == "__main__":
    sys.exit(main())
