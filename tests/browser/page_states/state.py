"""Page states, personas, and the ways in which each page is shown."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from playwright.sync_api import Browser, Page

from tests.browser.chromium import Visit, visit
from tests.browser.sample_data import SampleData

Action = Callable[[Page], None]

HEIGHT = 844  # CSS pixels
PATIENCE = 15_000  # milliseconds
WIDTHS = {"desktop": 1280, "phone": 390}


@dataclass(frozen=True)
class Variant:
    """A screen and a colour scheme."""

    screen: str
    scheme: str

    @property
    def width(self) -> int:
        return WIDTHS[self.screen]

    def __str__(self) -> str:
        return f"{self.screen}-{self.scheme}"


# Neighbours differ in one respect, which is quicker to change. The phone shows what was opened on the desktop.
VARIANTS = [
    Variant("desktop", "light"),
    Variant("desktop", "dark"),
    Variant("phone", "dark"),
    Variant("phone", "light"),
]


@dataclass(frozen=True)
class PageState:
    """A page as opened, or as it is after an action."""

    name: str
    path: str
    action: Action | None = None
    is_for_phones: bool = False


@dataclass(frozen=True)
class Persona:
    """A kind of user with its own browser, and the pages it sees."""

    states: Callable[[SampleData, Page], Iterable[PageState]]
    prepare: Callable[[SampleData, Page], None] = lambda *_: None


@contextmanager
def on(browser: Browser, persona: Persona, data: SampleData) -> Iterator[tuple[Visit, list[PageState]]]:
    """Open a browser as the persona. Yield it with the page states."""
    with visit(browser, viewport={"width": WIDTHS["desktop"], "height": HEIGHT}) as seen:
        seen.page.set_default_timeout(PATIENCE)
        persona.prepare(data, seen.page)
        yield seen, list(persona.states(data, seen.page))


def views(
    browser: Browser, persona: Persona, data: SampleData, variants: Sequence[Variant] = VARIANTS
) -> Iterator[tuple[Page, PageState, Variant]]:
    """Open each page state of a persona once, and show it in each variant without loading it again."""
    with on(browser, persona, data) as (seen, states):
        for state in states:
            shown = [each for each in variants if each.screen == "phone" or not state.is_for_phones]
            for number, variant in enumerate(shown):
                show(seen.page, variant)
                if number == 0:
                    go(data, seen.page, state)
                yield seen.page, state, variant


def show(page: Page, variant: Variant) -> None:
    page.set_viewport_size({"width": variant.width, "height": HEIGHT})
    page.emulate_media(color_scheme=variant.scheme, reduced_motion="reduce")  # type: ignore[arg-type]


def go(data: SampleData, page: Page, state: PageState) -> None:
    page.goto(data.service.base_url + state.path)
    if state.action is not None:
        state.action(page)
