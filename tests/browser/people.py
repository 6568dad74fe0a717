"""Users in a browser: businesses, sign-in, buttons and authenticators."""

import base64
import json
import secrets
import time
from dataclasses import dataclass

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from playwright.sync_api import Page

from tests.clients import Credentials, HttpClient
from tests.journeys.service import Service


@dataclass(frozen=True)
class Owner:
    """A user with a business."""

    base_url: str
    business: str
    email: str
    password: str
    credentials: Credentials

    @property
    def client(self) -> HttpClient:
        """The API client of the user's shop."""
        return HttpClient(self.base_url, self.credentials)

    def sign_in(self, page: Page, base_url: str | None = None, *, is_patient: bool = False) -> None:
        """Sign in at a base URL. With `is_patient`, also wait for the favicon, which the load event
        does not cover.
        """
        page.goto(f"{base_url or self.base_url}/dashboard/")
        if is_patient:
            page.wait_for_load_state("networkidle")
        sign_in(page, self.email, self.password)
        if is_patient:
            page.wait_for_load_state("networkidle")


OPEN = """
import json
from django.utils import timezone
from merchants.businesses.businesses import open_business
from merchants.people.audit import Actor
for email in {emails}:
    opened = open_business(name="{name}", email=email, actor=Actor(name="create_business"), now=timezone.now())
    print(json.dumps(opened.credentials(), default=str))
"""
AT_ONCE = 5  # a command takes two seconds to start, and milliseconds for each business

_opened: dict[tuple[str, str], list[dict[str, str]]] = {}


def credentials_of_new(service: Service, name: str = "Ada Books") -> dict[str, str]:
    """Return what `create_business` prints for a business that no other test has. Several are opened at once."""
    waiting = _opened.setdefault((service.base_url, name), [])
    if not waiting:
        emails = [f"{secrets.token_hex(5)}@example.com" for _ in range(AT_ONCE)]
        made = service.command("shell", "--no-imports", "-c", OPEN.format(emails=emails, name=name))
        assert made.returncode == 0, made.stderr
        waiting += [json.loads(line) for line in made.stdout.splitlines()]
    return waiting.pop()


def open_business(service: Service, name: str = "Ada Books") -> Owner:
    document = credentials_of_new(service, name)
    email = document["email"]
    return Owner(
        base_url=service.base_url,
        business=document["business"],
        email=email,
        password=document["password"],
        credentials=Credentials(document["api_key"], document["secret_key"]),
    )


def sign_in(page: Page, email: str, password: str) -> None:
    """Sign in with the form on the current page."""
    page.get_by_label("Email").fill(email)
    page.get_by_label("Password", exact=True).fill(password)
    press(page, "Sign in")


def press(page: Page, name: str, role: str = "button", *, exact: bool = True) -> None:
    """Press, and wait until the next page is loaded with its styles and images."""
    with page.expect_navigation():
        page.get_by_role(role, name=name, exact=exact).first.click()  # type: ignore[arg-type]


def code_of(secret: str, *, steps: int = 0) -> str:
    """Return the code that an authenticator app shows now, or this many steps of 30 s later."""
    app = TOTP(base64.b32decode(secret), 6, SHA1(), 30)  # noqa: S303 (the algorithm of authenticator apps)
    return app.generate(int(time.time()) + 30 * steps).decode()


def attach_authenticator(page: Page) -> None:
    """Add a virtual authenticator with user verification to the browser of a page."""
    options = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    devices = page.context.new_cdp_session(page)
    devices.send("WebAuthn.enable")
    devices.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def open_navigation(page: Page) -> None:
    """Open the navigation, which is behind a button on a phone."""
    button = page.get_by_role("button", name="Menu")
    if button.is_visible():
        button.click()
