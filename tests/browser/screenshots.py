"""Capture every page, in light and dark mode, on desktop and phone: `make screenshots` fills screenshots/.

`python -m tests.browser.screenshots owners staff` captures the pages of these personas only.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.chromium import chromium
from tests.browser.page_states import PERSONAS, Persona, go, on
from tests.browser.sample_data import SampleData, create_sample_data
from tests.journeys.service import PROJECT, start_service

FOLDER = PROJECT / "screenshots"
WIDTHS = {"desktop": 1280, "phone": 390}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_service(Path(folder)) as service,
        create_sample_data(service) as data,
        chromium() as browser,
    ):
        for name in sys.argv[1:] or PERSONAS:
            capture(browser, PERSONAS[name], data)
    print(f"{len(list(FOLDER.glob('*.png')))} screenshots in {FOLDER}")


def capture(browser: Browser, persona: Persona, data: SampleData) -> None:
    """Capture the pages of a persona. Results of an action are captured in place; other pages are
    reloaded.
    """
    with on(browser, persona, data) as (seen, states):
        for state in states:
            page = seen.page
            for number, (label, width) in enumerate(WIDTHS.items()):
                page.set_viewport_size({"width": width, "height": 844})
                if number == 0 or state.action is None:
                    go(data, page, state)
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    page.screenshot(path=FOLDER / f"{state.name}-{label}-{scheme}.png", full_page=True)


if __name__ == "__main__":
    main()
