"""The layout of each component, compared with the accepted one by the boxes of its parts, not by pixels.

`python -m tests.browser.test_components` accepts the current layout.
"""

import json
import tempfile
from pathlib import Path

import pytest

from tests.browser.chromium import chromium, visit
from tests.journeys.service import start_service

pytestmark = pytest.mark.e2e

ACCEPTED = Path(__file__).with_name("component_layout.json")
WIDTHS = (1280, 390)
TOLERANCE = 3  # CSS pixels: fonts are hinted differently on other machines

# Position within the component and size of every part, by its place in the tree. Text nodes have no box of their own.
MEASURE = """
async () => {
  await document.fonts.ready;
  const measured = {};
  for (const component of document.querySelectorAll("[data-component]")) {
    const origin = component.getBoundingClientRect();
    const parts = [component, ...component.querySelectorAll("*:not(svg *, option, script)")];
    measured[component.dataset.component] = parts.map((part) => {
      const box = part.getBoundingClientRect();
      const name = part.tagName.toLowerCase() + (part.getAttribute("class") ? "." + part.classList[0] : "");
      const [x, y, width, height] = [box.x - origin.x, box.y - origin.y, box.width, box.height].map(Math.round);
      return [name, x, y, width, height];
    });
  }
  return measured;
}
"""


def measure(browser, base_url):
    measured = {}
    for width in WIDTHS:
        with visit(browser, viewport={"width": width, "height": 844}) as seen:
            seen.page.goto(f"{base_url}/docs/components")
            measured[str(width)] = seen.page.evaluate(MEASURE)
    return measured


def differences(accepted, measured):
    for width in sorted(accepted.keys() | measured.keys()):
        before, after = accepted.get(width, {}), measured.get(width, {})
        for name in sorted(before.keys() | after.keys()):
            yield from _of_component(f"{name} at {width} px", before.get(name, []), after.get(name, []))


def _of_component(where, before, after):
    if [part[0] for part in before] != [part[0] for part in after]:
        yield f"{where}: other parts"
        return
    for (part, *old), (_, *new) in zip(before, after, strict=True):
        if any(abs(was - now) > TOLERANCE for was, now in zip(old, new, strict=True)):
            yield f"{where}: {part} was at {old}, is at {new}"


def test_components_have_the_accepted_layout(tmp_path, browser):
    with start_service(tmp_path) as service:
        measured = measure(browser, service.base_url)

    found = list(differences(json.loads(ACCEPTED.read_text()), measured))

    assert measured["1280"]
    assert found == [], "Accept the new layout with `python -m tests.browser.test_components`."


def test_a_moved_part_is_found():
    accepted = {"390": {"buttons": [["div.buttons", 0, 0, 300, 32], ["button.button", 0, 0, 56, 32]]}}
    moved = {"390": {"buttons": [["div.buttons", 0, 0, 300, 32], ["button.button", 0, 8, 56, 32]]}}
    without = {"390": {"buttons": [["div.buttons", 0, 0, 300, 32]]}}

    assert list(differences(accepted, accepted)) == []
    assert list(differences(accepted, moved)) == [
        "buttons at 390 px: button.button was at [0, 0, 56, 32], is at [0, 8, 56, 32]"
    ]
    assert list(differences(accepted, without)) == ["buttons at 390 px: other parts"]


def accept():
    with (
        tempfile.TemporaryDirectory() as folder,
        start_service(Path(folder)) as service,
        chromium() as browser,
    ):
        measured = measure(browser, service.base_url)
    lines = json.dumps(measured).replace("]], ", "]],\n").replace("{", "{\n").replace("}", "\n}")
    ACCEPTED.write_text(f"{lines}\n")


if __name__ == "__main__":
    accept()
