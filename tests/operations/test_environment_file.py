"""`.env.example` means the same to the shell, to systemd and to the service."""

import json
import shlex

import pytest
from environ import Env

from tests.operations.blocks import PROJECT

pytestmark = pytest.mark.operations

PRINT = "import json, os; print(json.dumps(dict(os.environ)))"


def as_the_shell_reads(host, path):
    script = f"set -a; . {shlex.quote(path)}; exec python3 -c {shlex.quote(PRINT)}"
    return json.loads(host.run("env", "--ignore-environment", "PATH=/usr/bin", "sh", "-c", script))


def as_systemd_reads(host, path):
    file = f"--property=EnvironmentFile={path}"
    return json.loads(host.run("systemd-run", "--quiet", "--wait", "--pipe", file, "python3", "-c", PRINT))


def as_the_service_reads(file, monkeypatch):
    read = {}
    monkeypatch.setattr(Env, "ENVIRON", read)
    Env.read_env(file, overwrite=False)
    return read


@pytest.fixture
def read_in_every_way(host, tmp_path, monkeypatch):
    def read(text):
        """Return the variables of a file, as each of its readers understands them."""
        host.write("/srv/some.env", text)
        file = tmp_path / "some.env"
        file.write_text(text)
        ours = as_the_service_reads(file, monkeypatch)
        return [
            {name: value for name, value in variables.items() if name in ours}
            for variables in (
                ours,
                as_the_shell_reads(host, "/srv/some.env"),
                as_systemd_reads(host, "/srv/some.env"),
            )
        ]

    return read


def test_example_is_read_equally(read_in_every_way):
    service, shell, systemd = read_in_every_way((PROJECT / ".env.example").read_text())

    assert service["MAIL_FROM"] == "Sluice <no-reply@localhost>"
    assert service == shell == systemd


@pytest.mark.parametrize(
    "value",
    [
        "a b",
        "a#b",
        "a #b",
        "$HOME",
        "`id`",
        'a"b',
        "a\\b",
        "a\\$b",
        "x&y;z|(w)",
        "naïve €",
        "-----",
        "a%b",
        "!x",
        "~",
        "*",
    ],
)
def test_value_in_single_quotes_is_read_equally(read_in_every_way, value):
    service, shell, systemd = read_in_every_way(f"BANK_CLIENT_ID='{value}'\n")

    assert service == shell == systemd == {"BANK_CLIENT_ID": value}
