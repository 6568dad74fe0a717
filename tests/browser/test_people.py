"""User management in a real browser: app codes, passkeys, invitations, API keys and the limits of viewers."""

import re
import secrets

import pytest
from playwright.sync_api import expect

from tests.browser.chromium import visit
from tests.browser.people import attach_authenticator, code_of, press
from tests.browser.sample_data import mailed_link

pytestmark = pytest.mark.e2e

PASSWORD = "correct horse battery"
SIZES = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    "phone in dark mode": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}


@pytest.fixture(params=SIZES)
def seen(request, browser):
    with visit(browser, **SIZES[request.param]) as visited:
        yield visited
        assert visited.complaints == []


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


class TestAuthenticatorApp:
    def test_is_set_up_and_then_required(self, owner, seen, browser):
        page = seen.page
        owner.sign_in(page)
        page.goto(f"{owner.base_url}/dashboard/account/")
        press(page, "Set up", "link")
        secret = page.locator("[data-secret=totp]").inner_text()
        page.get_by_label("Code").fill(code_of(secret))
        press(page, "Turn on")
        codes = page.locator("[data-secret=recovery-codes] code").all_inner_texts()
        assert len(codes) == 10
        assert fits(page)

        for answer in (code_of(secret, steps=1), codes[0]):
            with visit(browser) as elsewhere:
                owner.sign_in(elsewhere.page)
                expect(elsewhere.page.get_by_role("heading", level=1)).to_have_text("Enter your code")
                elsewhere.page.get_by_label("Code").fill(answer)
                press(elsewhere.page, "Continue")
                expect(elsewhere.page).to_have_title("Overview · Ada Books")
                assert elsewhere.complaints == []
        assert seen.origins - {"data://"} == {owner.base_url}


class TestPasskey:
    def test_is_created_and_signs_in_without_a_password(self, owner, browser):
        here = owner.base_url.replace("127.0.0.1", "localhost")  # browsers require a host name
        with visit(browser) as seen:
            page = seen.page
            attach_authenticator(page)
            owner.sign_in(page, here)
            page.goto(f"{here}/dashboard/account/passkeys/new/")
            page.get_by_label("Name").fill("Laptop")
            press(page, "Create passkey")
            expect(page.get_by_role("heading", level=1)).to_have_text("Recovery codes")
            page.goto(f"{here}/dashboard/account/")
            expect(page.get_by_text("Passkey Laptop")).to_be_visible()
            page.context.clear_cookies()

            page.goto(f"{here}/dashboard/login/")
            press(page, "Sign in with a passkey")

            expect(page).to_have_title("Overview · Ada Books")
            assert seen.complaints == []

    def test_is_not_offered_if_the_browser_supports_none(self, owner, browser):
        with visit(browser) as seen:
            seen.page.goto(f"{owner.base_url}/dashboard/login/")

            expect(seen.page.get_by_role("button", name="Sign in with a passkey")).to_be_hidden()
            assert seen.complaints == []


class TestViewer:
    def test_is_invited_joins_and_changes_nothing(self, owner, seen, browser, service):
        page = seen.page
        owner.sign_in(page)
        page.goto(f"{owner.base_url}/dashboard/team/")
        press(page, "Invite member", "link")
        email = f"viewer-{secrets.token_hex(4)}@example.com"
        page.get_by_label("Email").fill(email)
        page.get_by_label(re.compile("^Viewer")).check()
        press(page, "Invite member")
        expect(page.get_by_text("Invitation sent by email.")).to_be_visible()
        link = owner.base_url + mailed_link(service.folder / "service.log", "invitation")
        assert fits(page)

        with visit(browser) as guest:
            viewer = guest.page
            viewer.goto(link)
            viewer.get_by_label("Your name").fill("Chidi Eze")
            viewer.get_by_label("Password").fill(PASSWORD)
            press(viewer, "Join business")
            expect(viewer).to_have_title("Overview · Ada Books")
            viewer.goto(f"{owner.base_url}/dashboard/developers/")
            expect(viewer.get_by_text("Only owners and developers may create")).to_be_visible()
            expect(viewer.get_by_role("link", name="Create API key")).to_have_count(0)
            assert guest.complaints == []
            viewer.goto(f"{owner.base_url}/dashboard/developers/keys/new/")
            expect(viewer.get_by_role("heading", level=1)).to_have_text(
                "You don\u2019t have permission to do this"
            )
        page.goto(f"{owner.base_url}/dashboard/activity/")
        row = page.get_by_role("row").filter(has_text=email).filter(has_text="Joined as viewer")
        expect(row.first).to_be_visible()
        assert fits(page)


class TestKey:
    def test_is_created_shown_once_and_listed_in_the_activity(self, owner, seen):
        page = seen.page
        owner.sign_in(page)
        page.goto(f"{owner.base_url}/dashboard/developers/")
        press(page, "Create API key", "link")
        page.get_by_label("Name").fill("Web shop")
        press(page, "Create API key")
        secret = page.locator("[data-secret=api-key]").inner_text()
        press(page, "I've saved it", "link")
        assert secret not in page.content()
        expect(page.get_by_text("Web shop")).to_be_visible()

        page.goto(f"{owner.base_url}/dashboard/developers/signature/")
        page.get_by_label("Headers").fill(
            f"X-Api-Key: {owner.credentials.api_key}\nX-Timestamp: 1\nX-Nonce: short"
        )
        press(page, "Check request")
        expect(page.get_by_role("heading", name="Failed check: headers")).to_be_visible()
        assert fits(page)
