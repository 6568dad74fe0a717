"""What a newcomer types, in a fresh copy of the project: the quickstart, command by command."""

import os
import re
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager

import pytest

from kit.free_ports import free_port
from tests.journeys.service import PROJECT

pytestmark = [
    pytest.mark.long,
    pytest.mark.journey,
    pytest.mark.xdist_group("journey"),
    pytest.mark.timeout(600),
]

TOOLS = PROJECT / ".tools" / "uv" / "bin"
LONGEST_SECONDS = 180  # for everything after the installation
COMMANDS = re.compile(r"^```sh\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LISTEN = ".venv/bin/sluice listen\n"


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A copy of the project's files, with its dependencies installed by make."""
    folder = tmp_path_factory.mktemp("newcomer") / "sluice"
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if (PROJECT / name).is_file():
            shutil.copy(PROJECT / name, target)
    path = f"{TOOLS}:{os.environ['PATH']}"
    subprocess.run(["make", "install"], cwd=folder, env=os.environ | {"PATH": path}, check=True, timeout=300)
    return folder


@pytest.fixture
def terminal(copy, tmp_path):
    """The options of a new terminal in the project's folder: no variable of ours is set, and no profile is stored."""
    environment = {"PATH": f"{TOOLS}:{os.environ['PATH']}", "HOME": str(tmp_path)}
    return {"cwd": copy, "env": environment, "text": True, "stderr": subprocess.STDOUT}


def accept_interrupts():
    """Take Ctrl-C as in a terminal. A shell starts its background jobs, such as this test run, without it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@contextmanager
def running(command, *, output, terminal):
    """Run a command that doesn't end, and press Ctrl-C at the end."""
    with output.open("w") as shown:
        process = subprocess.Popen(
            command,
            stdout=shown,
            start_new_session=True,
            preexec_fn=accept_interrupts,  # noqa: PLW1509  (no other thread runs here)
            **terminal,
        )
    try:
        yield process
    finally:
        os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def played(blocks):
    """Return a script that runs blocks in one shell and prints the exit code of each."""
    return "".join(f'{block}\necho "= {number}: $?"\n' for number, block in enumerate(blocks)) + "kill %1\n"


def test_quickstart_works_in_a_fresh_copy(copy, terminal, tmp_path):
    port, receiver = free_port(), free_port()
    start, *blocks = COMMANDS.findall(
        (copy / "docs" / "quickstart.md").read_text().replace("9000", str(receiver))
    )
    assert start == "make run\n"
    assert blocks.count(LISTEN) == 1
    blocks.remove(LISTEN)
    started = time.monotonic()
    service, events = tmp_path / "service.log", tmp_path / "events.log"

    command = ["make", "run", f"PORT={port}", f"DATA={tmp_path / 'data'}"]
    with running(command, output=service, terminal=terminal):
        wait_until_written(service, "Sluice is ready", seconds=LONGEST_SECONDS)
        with running(LISTEN.split(), output=events, terminal=terminal):
            wait_until_written(events, "whk_listen_")
            left = LONGEST_SECONDS - (time.monotonic() - started)
            done = subprocess.run(
                ["bash", "-c", played(blocks)], stdout=subprocess.PIPE, timeout=left, check=False, **terminal
            )
        greeting = service.read_text()  # and log, before Ctrl-C

    assert f"Sluice is ready at http://127.0.0.1:{port}" in greeting
    assert f"export SANDBOX_DATA={tmp_path / 'data'}\n.venv/bin/sluice payments create" in greeting
    shown = re.split(r"^= \d+: (\d+)\n", done.stdout, flags=re.MULTILINE)
    printed, codes = shown[::2], shown[1::2]
    assert [number for number, code in enumerate(codes) if code != "0"] == [declined(blocks)], done.stdout
    for expected in (
        "link          order-1\nstatus        active\namount        NGN 2,500.00\npaid          0 of 1\nreceived      NGN 0.00\nurl           http",
        "payment       book-1\nstatus        success\namount        NGN 2,500.00\nresult        10000 Payment completed\n",
        "payment.success: success 10000",
        "Copied to the listener ",
        "20051 Declined - Not sufficient funds",
        "303 https://shop.example/back?reference=book-3",
        '"refund_status": "partially_refunded"',
        "success 10000 Payment completed",
        "payout.success: success 10000",
    ):
        assert expected in "".join(printed), done.stdout
    assert re.search(r"^payout\.success \S+ success Payment completed$", done.stdout, re.MULTILINE)
    assert re.search(r"^\d\d:\d\d:\d\d  payment\.success  \S+", events.read_text(), re.MULTILINE)
    assert "Traceback" not in greeting + events.read_text() + done.stdout


def declined(blocks):
    return next(number for number, block in enumerate(blocks) if "250051" in block)


def wait_until_written(file, text, *, seconds=30):
    deadline = time.monotonic() + seconds
    while text not in file.read_text():
        assert time.monotonic() < deadline, file.read_text()
        time.sleep(0.1)
