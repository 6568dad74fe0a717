"""A scratch host: this machine's files and programs, with its own processes, network and systemd.

Commands can change anything there, such as users, `/etc` and units. The changes are in memory and vanish with the host.
Its network has only a loopback interface. It needs root, an overlay file system and systemd.
"""

import json
import os
import shlex
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from pathlib import Path
from typing import Any

from tests.clients import Credentials, signed_headers
from tests.faults.processes import wait_until

NEEDED = (
    "setpriv",
    "unshare",
    "nsenter",
    "ip",
    "systemctl",
    "curl",
    "git",
    "make",
    "nginx",
    "redis-server",
    "psql",
)
# Of the host in front of these namespaces: its proxies and package indexes. Nothing else of its environment is wanted, least
# of all the interpreter of the `make` that runs the tests.
INHERITED = (
    "PIP_",
    "UV_DEFAULT_INDEX",
    "UV_EXTRA_INDEX",
    "UV_FIND_LINKS",
    "UV_INDEX",
    "UV_NATIVE_TLS",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "SSL_CERT",
)
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
END = "--- the command has ended with "


def missing() -> list[str]:
    """Return what this machine lacks."""
    lacks = [] if os.getuid() == 0 else ["root's rights"]
    programs = [name for name in NEEDED if not shutil.which(name, path=PATH)]
    return lacks + programs + ([] if Path("/lib/systemd/systemd").exists() else ["systemd"])


@dataclass(frozen=True)
class Response:
    status: int
    headers: Message
    text: str

    def json(self) -> Any:
        return json.loads(self.text)


class ScratchHost:
    def __init__(self, init: int) -> None:
        self._init = init
        self.root = Path(f"/proc/{init}/root")

    def _entered(self, *, network: bool = True) -> list[str]:
        namespaces = ["--all"] if network else ["--mount", "--pid", "--uts", "--ipc", "--cgroup"]
        return ["nsenter", "--target", str(self._init), *namespaces]

    def run(self, *command: str, text: str | None = None, check: bool = True) -> str:
        """Run a program and return its output.

        :raises AssertionError: it has failed
        """
        done = subprocess.run(
            [*self._entered(), *command],
            input=text, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
            timeout=120, env={"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"},
        )  # fmt: skip
        assert done.returncode == 0 or not check, f"{shlex.join(command)}: {done.stdout}"
        return done.stdout

    @contextmanager
    def shell(self, folder: str = "/", *, user: str = "root", internet: bool = False) -> Iterator["Shell"]:
        """Open a terminal.

        It begins in `folder` and belongs to `user`. With `internet`, it has this machine's network instead of the
        host's, for installations.
        """
        environment = {"PATH": PATH, "HOME": "/root", "LANG": "C.UTF-8"}
        if internet:
            environment |= {name: value for name, value in os.environ.items() if name.startswith(INHERITED)}
        bash = ["bash"] if user == "root" else ["su", user, "--shell", "/bin/bash"]
        command = [*self._entered(network=not internet), *bash]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment, text=True
        ) as process:  # fmt: skip
            shell = Shell(process)
            shell.run(f"cd {shlex.quote(folder)}")
            try:
                yield shell
            finally:
                process.kill()

    def start(self, unit: str, *command: str, user: str = "root", **environment: str) -> None:
        """Start a program as a unit of systemd."""
        variables = [f"--setenv={name}={value}" for name, value in environment.items()]
        self.run("systemd-run", "--quiet", f"--unit={unit}", f"--uid={user}", *variables, *command)

    def request(
        self, url: str, *options: str, method: str = "GET", body: bytes = b"", headers: dict[str, str] | None = None
    ) -> Response:  # fmt: skip
        """Send a request from this host, with curl's options."""
        lines = [f"{name}: {value}" for name, value in (headers or {}).items()]
        words = [
            "curl",
            "--silent",
            "--show-error",
            "--include",
            "--path-as-is",
            "--max-time",
            "60",
            *options,
        ]
        words += ["--request", method, *(word for line in lines for word in ("--header", line)), url]
        done = subprocess.run(
            [*self._entered(), *words, *(["--data-binary", "@-"] if body else [])],
            input=body, capture_output=True, check=False, timeout=90,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()
        head, _, text = done.stdout.decode().replace("\r\n", "\n").partition("\n\n")
        status, _, fields = head.partition("\n")
        return Response(int(status.split()[1]), Parser().parsestr(fields, headersonly=True), text)

    def call(
        self, base_url: str, keys: Credentials, method: str, target: str, body: Any = None,
        *, options: tuple[str, ...] = (),
    ) -> Response:  # fmt: skip
        """Make a signed call of the API, with curl's options."""
        raw = json.dumps(body).encode() if body is not None else b""
        headers = signed_headers(keys, method, target, raw)
        if raw:
            headers["Content-Type"] = "application/json"
        return self.request(base_url + target, *options, method=method, body=raw, headers=headers)

    def write(self, path: str, text: str, *, mode: int = 0o644) -> None:
        """Write a file of the host."""
        file = self.root / path.removeprefix("/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch(mode=mode)
        file.write_text(text)

    def append(self, path: str, text: str) -> None:
        with (self.root / path.removeprefix("/")).open("a") as file:
            file.write(text)

    def read(self, path: str) -> str:
        return (self.root / path.removeprefix("/")).read_text()


class Shell:
    """A terminal of the host. Its folder and variables last from one command to the next."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process

    def run(self, command: str, *, typed: tuple[str, ...] = (), accepted: tuple[int, ...] = (0,)) -> str:
        """Run a command and return its output, standard error included.

        `command` is the line as the user types it, `typed` the lines that it then reads.

        :raises AssertionError: it has ended with another status
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        # In braces, so that the command reads the typed lines and not the next command.
        lines = ["{", command, "} <<'TYPED'", *typed, "TYPED", f"printf '\\n{END}%s\\n' $?", ""]
        self._process.stdin.write("\n".join(lines))
        self._process.stdin.flush()
        output = []
        for line in self._process.stdout:
            if line.startswith(END):
                break
            output.append(line)
        else:
            raise AssertionError(f"the shell has ended in {command}: {''.join(output)}")
        shown = "".join(output).rstrip("\n")
        status = int(line.removeprefix(END))
        assert status in accepted, f"{command}\nended with {status}: {shown}"
        return shown


@contextmanager
def scratch_host() -> Iterator[ScratchHost]:
    """Boot a host, and remove everything of it afterwards.

    :raises AssertionError: this machine lacks something for it
    """
    assert not missing(), f"{', '.join(missing())}: needed by this test, but missing here"
    folder = Path(tempfile.mkdtemp(prefix="sluice-host-"))
    control_group = _control_groups() / folder.name
    control_group.mkdir()
    try:
        with (folder.parent / f"{folder.name}.log").open("wb") as log:
            process = subprocess.Popen(_boot_command(folder, control_group), stdout=log, stderr=log)
        try:
            yield _booted(process)
        finally:
            for init in _children(process):
                os.kill(init, signal.SIGKILL)  # ends all its processes, and so its namespaces
            process.kill()
            process.wait(timeout=30)
    finally:
        wait_until(lambda: not (control_group / "cgroup.procs").exists() or _is_removed(control_group))
        folder.rmdir()
        (folder.parent / f"{folder.name}.log").unlink()


def _control_groups() -> Path:
    """Return where the control groups of version 2 are mounted."""
    mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return Path(next(mount[1] for mount in mounts if mount[2] == "cgroup2"))


def _boot_command(folder: Path, control_group: Path) -> list[str]:
    boot = Path(__file__).with_name("boot.sh")
    namespaces = "--mount --pid --fork --kill-child --uts --ipc --net --cgroup"
    join = f'echo $$ > "$1/cgroup.procs" && exec setpriv --pdeathsig KILL unshare {namespaces} sh "$2" "$3"'
    return ["sh", "-c", join, "sh", str(control_group), str(boot), str(folder)]


def _children(process: "subprocess.Popen[bytes]") -> list[int]:
    listed = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return [int(pid) for pid in listed.read_text().split()] if listed.exists() else []


def _booted(process: "subprocess.Popen[bytes]") -> ScratchHost:
    wait_until(lambda: process.poll() is not None or _is_systemd(process), what="systemd", seconds=60)
    assert process.poll() is None, "the host could not be booted; see its log in the temporary folder"
    host = ScratchHost(_children(process)[0])
    wait_until((host.root / "run/systemd/private").exists, what="systemd", seconds=60)
    host.run("systemctl", "is-system-running", "--wait", check=False)
    return host


def _is_systemd(process: "subprocess.Popen[bytes]") -> bool:
    return any(Path(f"/proc/{pid}/comm").read_text().strip() == "systemd" for pid in _children(process))


def _is_removed(control_group: Path) -> bool:
    """Remove a control group with its descendants, which works once their processes have ended."""
    try:
        for folder, _, _ in os.walk(control_group, topdown=False):
            Path(folder).rmdir()
    except OSError:
        return False
    return True
