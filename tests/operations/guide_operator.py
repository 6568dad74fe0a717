"""An operator who follows the guide on a scratch host, and the merchant whose payments they watch over."""

import re
import secrets
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus

from tests import orders
from tests.clients import Credentials
from tests.faults.processes import wait_until
from tests.operations.blocks import Block
from tests.operations.scratch_host import Response, ScratchHost, Shell
from tests.operations.surroundings import PAY, SHOP, Surroundings

# Commands of the guide that this host can't run, by how they begin, with the reason.
NOT_RUN = {
    "make run-production": "tests/config/runtime/test_local_production.py runs it",
    "apt-get install": "the host has the packages of this machine, and no network",
    "docker compose": "needs docker; `make test-image` builds the image and runs its processes",
    "make pin-images": "needs docker and a registry; tests/docs/test_operations.py runs it with another docker",
}
SETTINGS = "/etc/sluice.env"


@dataclass
class Operator:
    host: ScratchHost
    surroundings: Surroundings
    shell: Shell  # a terminal of root
    settings: dict[str, str] = field(default_factory=dict)
    keys: Credentials = field(default_factory=lambda: Credentials("", ""))
    password: str = ""  # of the business's owner
    webhook_key: str = ""
    # Commands that the guide shows once and refers to later, set when they have been read.
    enter: str = ""  # go to the release and read its settings
    restart: Block | None = None

    def follow(self, block: Block, *, typed: tuple[str, ...] = (), shell: Shell | None = None) -> list[str]:
        """Run what can be run of a block, and return the output of each command. The first one reads the typed lines."""
        outputs = []
        for command in block.commands:
            if not command.startswith(tuple(NOT_RUN)):
                accepted = (0, 1) if "manage.py doctor" in command else (0,)  # 1: warnings only
                outputs.append((shell or self.shell).run(command, typed=typed, accepted=accepted))
                typed = ()
        return outputs

    @contextmanager
    def terminal(self) -> Iterator[Shell]:
        """Open another terminal, with the settings as they are now."""
        with self.host.shell() as shell:
            shell.run(self.enter)
            yield shell

    def fill_in(self, **settings: str) -> None:
        """Set variables in the file of the settings."""
        self.settings = self.settings | settings
        text = self.host.read(SETTINGS)
        for name, value in settings.items():
            line = f"{name}={shlex.quote(value)}"
            text, count = re.subn(rf"^{name}=.*$", lambda _, line=line: line, text, flags=re.MULTILINE)
            assert count == 1, f"{name} is not in .env.example"
        self.host.write(SETTINGS, text)

    def change_settings(self, **settings: str) -> None:
        """Change settings, restart all processes as the guide says, and wait until web answers."""
        assert self.restart is not None
        self.fill_in(**settings)
        self.follow(self.restart)
        self.wait_until_ready()

    def wait_until_ready(self) -> None:
        wait_until(lambda: self.get("/readyz").status == 200, what="web", seconds=60)

    def inspect(self, command: str) -> str:
        """Run a command of the test's own, which changes neither folder nor variables of the operator."""
        return self.host.run("sh", "-c", command)

    def manage(self, *arguments: str) -> str:
        with self.terminal() as shell:
            return shell.run(shlex.join([".venv/bin/python", "manage.py", *arguments]))

    def get(self, path: str, *options: str, **headers: str) -> Response:
        return self.host.request(f"https://{PAY}{path}", *options, headers=headers)

    def call(
        self, method: str, target: str, body: object = None, *, keys: Credentials | None = None
    ) -> Response:
        return self.host.call(f"https://{PAY}", keys or self.keys, method, target, body)

    def pay(self, **changes: object) -> str:
        """Pay by card as the merchant, and return the reference. Repeats a 503, as after a restart of the database."""
        order = orders.card_payment(**changes)
        for _ in range(10):  # each thread finds its connection broken once
            created = self.call("POST", "/api/payments", order)
            if created.status != HTTPStatus.SERVICE_UNAVAILABLE:
                break
        assert (created.status, created.json()["status"]) == (201, "success"), created.text
        return str(order["reference"])

    def look_up(
        self, reference: str, *, base_url: str = f"https://{PAY}", options: tuple[str, ...] = ()
    ) -> Response:
        return self.host.call(base_url, self.keys, "GET", f"/api/payments/{reference}", options=options)

    def webhook_of(self, reference: str) -> dict[str, str]:
        """Wait until the merchant has received the event of a payment."""
        found: list[dict[str, str]] = []

        def has_arrived() -> bool:
            found[:] = [one for one in self.surroundings.arrivals() if reference in one["body"]]
            return bool(found)

        wait_until(has_arrived, what=f"the webhook of {reference}", seconds=60)
        return found[0]

    def sign_in(self) -> str:
        """Sign in to the dashboard as the business's owner, and return the file of the session's cookies."""
        jar = f"/root/{secrets.token_hex(4)}.cookies"
        cookies = ("--cookie", jar, "--cookie-jar", jar)
        page = self.get("/dashboard/login/", *cookies)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token
        form = {"csrfmiddlewaretoken": token[1], "email": "ada@example.com", "password": self.password}
        fields = [word for name, value in form.items() for word in ("--data-urlencode", f"{name}={value}")]
        url = f"https://{PAY}/dashboard/login/"

        def has_passed() -> bool:  # 503: the thread's connection was of before a restart of PostgreSQL
            sent = self.host.request(url, *cookies, *fields, "--referer", url, method="POST")
            assert sent.status in {302, 503}, sent.text
            return sent.status == 302

        wait_until(has_passed, what="the sign-in")
        return jar

    def is_signed_in(self, jar: str) -> bool:
        answer = self.get("/dashboard/", "--cookie", jar)
        return "/dashboard/login/" not in answer.headers.get("Location", "")

    def scrape(self, token: str) -> int:
        """Read the metrics as a client of another network, and return the status of the response."""
        headers = {"Host": PAY, "X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "https"}
        headers["Authorization"] = f"Bearer {token}"
        return self.host.request("http://127.0.0.1:8000/metrics", headers=headers).status

    def subscribe(self) -> None:
        """Send the merchant's events to its receiver."""
        shown = self.manage(
            "configure_webhook", "--business", "Ada Books", "--url", f"https://{SHOP}/hooks", "--events", "payment"
        )  # fmt: skip
        self.webhook_key = shown.split("(shown only once): ")[1].split()[0]


def shown(output: str, label: str) -> str:
    """Return the value that a command shows after a label."""
    found = re.search(rf"^\s*{label}\s+(\S+)", output, re.MULTILINE)
    assert found, output
    return found[1]
