"""Staff who use the administration as people do: they open a page, fill in a form on it, and press its button."""

from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.test import Client

from merchants.models import User
from tests.dashboard.people import signed_in


class Forms(HTMLParser):
    """The forms of a page that post: where to, the texts of their buttons, and the values that they were filled in with."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[dict[str, Any]] = []
        self._select = self._area = ""
        self._button: list[str] | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "form":
            self.found.append(
                {"action": given.get("action", ""), "values": {}, "names": set(), "buttons": []}
            )
        if not self.found:
            return
        form, name = self.found[-1], given.get("name", "")
        if tag == "button":
            form["buttons"].append("")
            self._button = form["buttons"]
        elif tag == "option" and "selected" in given:
            form["values"].setdefault(self._select, given.get("value", ""))
        elif name:
            form["names"].add(name)
            self._field(form, tag, name, given)

    def _field(self, form: dict[str, Any], tag: str, name: str, given: dict[str, str]) -> None:
        self._select, self._area = (name if tag == each else "" for each in ("select", "textarea"))
        if tag != "input" or given.get("type") == "file":
            return
        if given.get("type") == "submit":
            form["buttons"].append(given.get("value", ""))
        elif given.get("type") not in {"checkbox", "radio"} or "checked" in given:
            form["values"][name] = given.get("value", "")

    def handle_data(self, data: str) -> None:
        if self._button is not None:
            self._button[-1] += data
        elif self._area:
            form = self.found[-1]
            form["values"][self._area] = form["values"].get(self._area, "") + data.removeprefix("\n")

    def handle_endtag(self, tag: str) -> None:
        if tag == "button":
            self._button = None
        elif tag == "textarea":
            self._area = ""


class Person:
    """A member of staff in a browser without scripts."""

    def __init__(self, user: User) -> None:
        self.user = user
        self.sign_in()

    def sign_in(self) -> None:
        self._browser = signed_in(self.user, client=Client())

    def open(self, address: str) -> str:
        answer = self._browser.get(address, follow=True)
        assert answer.status_code == 200, (address, answer.status_code)
        return str(answer.content.decode())

    def press(self, button: str, address: str, **filled_in: Any) -> str:
        """Open a page, fill in the form that has a button, press it, and return the page that follows."""
        return self.press_on(self.open(address), button, address, **filled_in)

    def press_on(self, page: str, button: str, address: str, **filled_in: Any) -> str:
        forms = [form for form in Forms(page).found if button in [text.strip() for text in form["buttons"]]]
        assert forms, f"{address} has no button {button!r}"
        form = forms[0]
        assert filled_in.keys() <= form["names"], filled_in.keys() - form["names"]
        target = urljoin(address, form["action"]) if form["action"] else address
        answer = self._browser.post(target, form["values"] | filled_in, follow=True)
        assert answer.status_code == 200, (target, answer.status_code)
        return str(answer.content.decode())
