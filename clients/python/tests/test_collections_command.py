"""`sluice collections`, against a service that sends what a test says."""

import io
import json
import os
import stat
import subprocess
import threading
import zipfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from sluice.cli.main import main

SECRET = "sk_sandbox_canary"
BRUNO = {"bruno.json": "{}", "environments/Without-keys.bru": "vars {\n}\n", "Payments/Pay.bru": "get {\n}\n"}


class Service(BaseHTTPRequestHandler):
    answers: dict[str, tuple[int, bytes]] = {}

    def do_GET(self):
        status, body = self.answers.get(self.path, (404, b""))
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def archive_of(files):
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return written.getvalue()


def names_in(folder):
    return [file.name for file in folder.iterdir()]


@pytest.fixture
def service(monkeypatch):
    answers = {
        "/api/collections/postman.json": (200, b'{"info": {}}\n'),
        "/api/collections/bruno.zip": (200, archive_of(BRUNO)),
    }
    monkeypatch.setattr(Service, "answers", answers)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
    yield answers, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture
def run(service, tmp_path, monkeypatch, capsys):
    """Return a function that runs `sluice collections` in an empty folder and returns its code, output and errors."""
    _, address = service
    monkeypatch.chdir(tmp_path)
    keys = {"BASE_URL": address, "API_KEY": "pk_sandbox_1", "SECRET_KEY": SECRET}
    for name, value in keys.items():
        monkeypatch.setenv(f"SLUICE_{name}", value)

    def command(*arguments):
        code = main(["collections", *arguments])
        printed = capsys.readouterr()
        assert SECRET not in printed.out + printed.err
        return code, printed.out, printed.err

    return command


def test_writes_the_file_for_postman(run, tmp_path):
    code, out, _ = run("postman", "--output", "api")

    assert (code, names_in(tmp_path / "api")) == (0, ["sluice.postman_collection.json"])
    assert (tmp_path / "api" / "sluice.postman_collection.json").read_bytes() == b'{"info": {}}\n'
    assert "Wrote api/sluice.postman_collection.json" in out


def test_unpacks_the_folder_for_bruno(run, tmp_path):
    code, out, _ = run("bruno", "--output", "a/b", "--json")

    assert (code, json.loads(out)) == (0, {"folder": "a/b", "files": 3, "environment": None})
    found = {str(file.relative_to(tmp_path / "a" / "b")) for file in tmp_path.rglob("*") if file.is_file()}
    assert found == set(BRUNO)


@pytest.mark.parametrize(
    ("program", "environment"),
    [("postman", "sluice.postman_environment.json"), ("bruno", "environments/With-keys.bru")],
)
def test_writes_keys_for_the_owner_only_and_has_git_ignore_them(run, service, tmp_path, program, environment):
    (tmp_path / ".gitignore").write_text("build/")
    umask = os.umask(0)
    try:
        codes = [run(program, "--output", ".", "--with-keys")[0] for _ in range(2)]
    finally:
        os.umask(umask)

    file = tmp_path / environment
    assert codes == [0, 0]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (tmp_path / ".gitignore").read_text() == f"build/\n/{environment}\n"
    assert all(value in file.read_text() for value in (service[1], "pk_sandbox_1", SECRET))
    subprocess.run(["git", "init", "--quiet"], check=True)
    untracked = subprocess.run(["git", "status", "--porcelain", "-uall"], capture_output=True, check=True)
    assert environment.encode() not in untracked.stdout


def test_says_how_to_run_what_it_wrote(run):
    assert "--with-keys" in run("postman", "--output", "api")[1]
    assert "--with-keys" in run("bruno", "--output", "api")[1]
    files = "api/sluice.postman_collection.json -e api/sluice.postman_environment.json"
    assert f"newman run {files}\n" in run("postman", "--output", "api", "--with-keys")[1]
    assert "cd api && bru run -r --env With-keys\n" in run("bruno", "--output", "api", "--with-keys")[1]


def test_replaces_a_file_of_keys_that_others_can_read(run, tmp_path):
    file = tmp_path / "sluice.postman_environment.json"
    file.touch(0o644)

    assert run("postman", "--output", ".", "--with-keys")[0] == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_needs_no_keys_if_it_is_given_the_address(run, service, monkeypatch):
    monkeypatch.delenv("SLUICE_API_KEY")
    monkeypatch.delenv("SLUICE_SECRET_KEY")

    assert run("postman", "--output", "api", "--base-url", service[1])[0] == 0


def test_warns_of_a_live_key(run, monkeypatch):
    monkeypatch.setenv("SLUICE_API_KEY", "pk_live_1")

    code, _, errors = run("bruno", "--output", "api", "--with-keys")

    assert (code, "holds a live key" in errors) == (0, True)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "../outside.bru",
            "/outside.bru",
            "a/../../outside.bru",
            "..\\outside.bru",
            "a//b.bru",
            "a/",
            "a.bru/b.bru",
        ),
        *(
            ".git/config",
            ".envrc",
            ".git/Pay.bru",
            "a/.hidden.bru",
            "package.json",
            "a/bruno.json",
            "a\x1b[2J.bru",
        ),
        *("BRUNO.JSON", "environments/With-keys.bru"),
    ],
)
def test_writes_nothing_if_one_name_is_not_of_a_collection(run, service, tmp_path, name):
    service[0]["/api/collections/bruno.zip"] = (200, archive_of({"bruno.json": "{}", name: ""}))

    code, out, errors = run("bruno", "--output", "a/b")

    assert (code, out, names_in(tmp_path)) == (1, "", [])
    assert "not a collection" in errors


@pytest.mark.parametrize("answer", [(200, b"<html>"), (404, b""), (302, b"")])
def test_is_1_if_the_service_sends_no_collection(run, service, tmp_path, answer):
    service[0]["/api/collections/bruno.zip"] = answer

    assert run("bruno", "--output", "api")[:2] == (1, "")
    assert names_in(tmp_path) == []


def test_is_2_if_the_folder_can_not_be_written(run, tmp_path):
    (tmp_path / "api").write_text("a file")

    code, _, errors = run("postman", "--output", "api")

    assert (code, "Traceback" in errors) == (2, False)


@pytest.mark.parametrize("link", ["api", "api/Payments", "api/Payments/Pay.bru", "api/.gitignore"])
def test_follows_no_symbolic_link(run, tmp_path, link):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / link).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / link).symlink_to(elsewhere if "." not in link else elsewhere / "file")

    code, out, errors = run("bruno", "--output", "api", "--with-keys")

    assert (code, out, names_in(elsewhere)) == (2, "", [])
    assert f"{link} is a symbolic link" in errors
    assert not (tmp_path / "api" / "bruno.json").exists()


@pytest.mark.parametrize("body", [b"<html>", b"[]", b"[" * 100_000], ids=["page", "list", "deep"])
def test_writes_no_file_for_postman_that_is_not_a_collection(run, service, tmp_path, body):
    service[0]["/api/collections/postman.json"] = (200, body)

    assert run("postman", "--output", "api")[:2] == (1, "")
    assert names_in(tmp_path) == []


def test_writes_nothing_of_too_many_files(run, service, tmp_path):
    files = {f"a/{number}.bru": "" for number in range(2_001)}
    service[0]["/api/collections/bruno.zip"] = (200, archive_of(files))

    assert run("bruno", "--output", "api")[0] == 1
    assert names_in(tmp_path) == []
