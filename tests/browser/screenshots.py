"""Photograph every page, light and dark, on a desk and on a phone: `make screenshots` fills screenshots/.

`python -m tests.browser.screenshots owners staff` photographs these legs of the tour alone.
"""

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Browser

from tests.browser.chromium import chromium
from tests.browser.stage import Stage, full_stage
from tests.browser.tour import LEGS, Leg, go, on
from tests.journeys.service import PROJECT, start_service

FOLDER = PROJECT / "screenshots"
WIDTHS = {"desk": 1280, "phone": 390}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory() as folder,
        start_service(Path(folder)) as service,
        full_stage(service) as stage,
        chromium() as browser,
    ):
        for name in sys.argv[1:] or LEGS:
            photograph(browser, LEGS[name], stage)
    print(f"{len(list(FOLDER.glob('*.png')))} pictures in {FOLDER}")


def photograph(browser: Browser, leg: Leg, stage: Stage) -> None:
    """Photograph the stops of a leg. What an act has led to is looked at where it is; the rest opens anew."""
    with on(browser, leg, stage) as (seen, stops):
        for stop in stops:
            page = seen.page
            for number, (label, width) in enumerate(WIDTHS.items()):
                page.set_viewport_size({"width": width, "height": 844})
                if number == 0 or stop.act is None:
                    go(stage, page, stop)
                for scheme in ("light", "dark"):
                    page.emulate_media(color_scheme=scheme)
                    page.screenshot(path=FOLDER / f"{stop.name}-{label}-{scheme}.png", full_page=True)


if __name__ == "__main__":
    main()
