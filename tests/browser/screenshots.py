"""Capture every page, in light and dark mode, on desktop and phone: `make screenshots` fills screenshots/.

`python -m tests.browser.screenshots owners staff` captures only the pages of personas whose names start like this.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser
from playwright.sync_api import Error as PlaywrightError

from tests.browser.chromium import chromium
from tests.browser.page_checks import findings
from tests.browser.page_states import PERSONAS
from tests.browser.page_states.state import Persona, views
from tests.browser.sample_data import SampleData, create_sample_data
from tests.journeys.service import PROJECT, start_service

FOLDER = PROJECT / "screenshots"


def main(*names: str) -> None:
    FOLDER.mkdir(exist_ok=True)
    personas = [each for name, each in PERSONAS.items() if name.startswith(names or "")]
    found: list[str] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        start_service(Path(folder)) as service,
        create_sample_data(service) as data,
        chromium() as browser,
    ):
        for persona in personas:
            capture(browser, persona, data, found)
    (FOLDER / "findings.txt").write_text("".join(f"{each}\n" for each in found))
    print(f"{len(found)} findings in {FOLDER}/findings.txt")
    print(f"{len(list(FOLDER.glob('*.png')))} screenshots in {FOLDER}")


def capture(browser: Browser, persona: Persona, data: SampleData, found: list[str]) -> None:
    """Capture the pages of a persona, and add what `page_checks` finds on them, or why one can't be opened."""
    name = ""
    try:
        for page, state, variant in views(browser, persona, data):
            name = f"{state.name}-{variant}"
            page.evaluate("scrollTo(0, 0)")  # sticky heads are drawn where they are
            page.screenshot(path=FOLDER / f"{name}.png", full_page=True)
            found += [
                f"{name}: {check}: {fault}"
                for check, faults in findings(page, variant).items()
                for fault in faults
            ]
    except PlaywrightError as error:
        found.append(f"after {name}: {' '.join(str(error).split())}")


if __name__ == "__main__":
    main(*sys.argv[1:])
