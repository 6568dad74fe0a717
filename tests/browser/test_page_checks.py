"""Each check of pages finds its fault, and nothing else."""

import pytest

from tests.browser.chromium import visit
from tests.browser.page_checks import findings
from tests.browser.page_states.state import VARIANTS, show

pytestmark = pytest.mark.e2e

PAGE = """<!doctype html><html lang="en"><title>Page</title><style>main {{ width: 300px }} {style}</style>
<main><h1>Heading</h1>{main}</main>"""
LONG = "A sentence that is longer than its box, which is narrow"
ROWS = f"<tr><td>{LONG}</td><td>-</td></tr>"

FAULTS = {
    "scrolls sideways": ("p { width: 2000px }", "<p>Wide</p>"),
    "leaves its box": ("p { width: 99px; white-space: nowrap }", f"<p>{LONG}</p>"),
    "cut without a title": (
        "p { width: 99px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap }",
        f"<p>{LONG}</p>",
    ),
    "squeezed columns": (
        "table { table-layout: fixed; width: 200px } td { overflow: hidden; white-space: nowrap }",
        f"<table><thead><tr><th>Name</th><th>None</th></tr></thead><tbody>{ROWS}</tbody></table>",
    ),
    "invisible focus": ("a:focus { outline: none }", '<p><a href="/">Link</a></p>'),
    "unstyled fields": ("input { border: 1px inset }", '<input aria-label="Name">'),
    "axe": ("p { color: #aaa; background: #fff }", "<p>Faint</p>"),
}


@pytest.mark.parametrize("check", FAULTS)
def test_fault_is_found(browser, check):
    style, main = FAULTS[check]
    with visit(browser) as seen:
        show(seen.page, VARIANTS[0])
        seen.page.set_content(PAGE.format(style=style, main=main))

        assert set(findings(seen.page, VARIANTS[0])) == {check}


def test_page_without_faults_has_no_findings(browser):
    with visit(browser) as seen:
        show(seen.page, VARIANTS[0])
        seen.page.set_content(PAGE.format(style="", main='<p><a href="/">Link</a></p>'))

        assert findings(seen.page, VARIANTS[0]) == {}
