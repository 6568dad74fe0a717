"""Checks of a page as people see it: cut texts, squeezed columns, sideways scrolling, contrast, focus and axe's rules.

The tests of every page and `make screenshots` run them on every page, in light and dark mode, on desktop and phone.
"""

from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.browser.page_states.state import Persona, Variant, views
from tests.browser.sample_data import SampleData

# Texts that CSS cuts off. A title, or the same text elsewhere in the row, must say the whole of it.
CUT_TEXTS = """
() => [...document.querySelectorAll("main *")]
  .filter((each) => {
    const style = getComputedStyle(each);
    const cuts = style.textOverflow === "ellipsis" && style.overflowX !== "visible";
    return cuts && each.scrollWidth > each.clientWidth + 1 && each.clientWidth > 0 && !each.closest("[title]")
      && !each.querySelector("[title]") && !each.matches("input, select");
  })
  .map((each) => `${each.tagName.toLowerCase()}.${each.className}: ${each.textContent.replace(/\\s+/g, " ").trim().slice(0, 60)}`)
"""

# Columns that cut or break their words beside a column that is empty in every row.
SQUEEZED_COLUMNS = """
() => {
  const found = [];
  for (const table of document.querySelectorAll("main table")) {
    const rows = [...table.querySelectorAll("tbody tr")].filter((row) => row.cells.length > 1);
    if (rows.length === 0 || getComputedStyle(table).display !== "table") continue;
    const isOpen = (cell) => cell && cell.clientWidth > 0;
    const columns = rows[0].cells.length;
    const regular = rows.filter((row) => row.cells.length === columns);
    const cells = (column) => regular.map((row) => row.cells[column]);
    const isEmpty = (column) => cells(column).every((cell) =>
      ["", "-", "\\u2013", "\\u2014"].includes(cell.textContent.trim()) && !cell.querySelector("img, svg, input, button"));
    const isCut = (cell) => isOpen(cell) && (cell.scrollWidth > cell.clientWidth + 1
      || [...cell.querySelectorAll("*")].some((each) => each.scrollWidth > each.clientWidth + 1
        && getComputedStyle(each).textOverflow === "ellipsis"));
    const empty = [...Array(columns).keys()].filter((column) =>
      isEmpty(column) && isOpen(cells(column)[0]) && cells(column)[0].clientWidth > 48);
    const cut = [...Array(columns).keys()].filter((column) => cells(column).some(isCut));
    if (empty.length && cut.length) {
      const head = (column) => table.tHead?.rows[0]?.cells[column]?.textContent.trim() || `column ${column + 1}`;
      found.push(`${cut.map(head).join(", ")} cut beside the empty ${empty.map(head).join(", ")}`);
    }
  }
  return found;
}
"""

# Texts that leave their box, and so lie on what is beside it.
OVERFLOWING = """
() => {
  const found = new Set();
  const texts = document.createTreeWalker(document.querySelector("main") ?? document.body, NodeFilter.SHOW_TEXT);
  const clips = (each) => each && (getComputedStyle(each).overflowX !== "visible" || clips(each.parentElement));
  while (texts.nextNode()) {
    const text = texts.currentNode;
    let box = text.parentElement;
    if (!text.data.trim() || !box.checkVisibility() || box.closest("svg, option")) continue;
    while (getComputedStyle(box).display === "inline") box = box.parentElement;
    const edge = box.getBoundingClientRect(), range = document.createRange();
    if (edge.width <= 1 || clips(box)) continue;
    range.selectNodeContents(text);
    if ([...range.getClientRects()].some((part) => part.right > edge.right + 1 || part.left < edge.left - 1)) {
      found.add(`${box.tagName.toLowerCase()}.${box.className}: ${text.data.trim().slice(0, 60)}`);
    }
  }
  return [...found];
}
"""

# What keyboards reach must show that it has the focus: an outline, a shadow, or another border than before.
INVISIBLE_FOCUS = """
() => {
  const look = (each) => {
    const own = getComputedStyle(each), row = each.closest("tr, label, .chip, summary") || each;
    const around = getComputedStyle(row);
    return [own.outlineStyle === "none" ? "" : own.outlineWidth + own.outlineColor, own.boxShadow, own.borderColor,
      own.backgroundColor, own.textDecorationLine, around.boxShadow, around.outlineStyle].join("|");
  };
  const reached = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")]
    .filter((each) => !each.disabled && !each.closest("[inert], dialog:not([open])")
      && each.checkVisibility({ visibilityProperty: true }) && each.getClientRects().length);
  const sample = [...new Map(reached.map((each) => [each.tagName + each.className + each.type, each])).values()];
  const active = document.activeElement;
  const found = sample.filter((each) => {
    const before = look(each);
    each.focus({ preventScroll: true, focusVisible: true });
    return document.activeElement === each && look(each) === before;
  }).map((each) => each.outerHTML.slice(0, 120));
  active?.focus?.({ preventScroll: true });
  if (active === document.body) document.activeElement.blur();
  return found;
}
"""

# Fields without our styles have the browser's default border.
UNSTYLED = """
() => [...document.querySelectorAll("main input:not([type=hidden], [type=checkbox], [type=radio]), main textarea")]
  .filter((each) => getComputedStyle(each).borderTopStyle === "inset").map((each) => each.outerHTML.slice(0, 120))
"""


# No layout depends on the scheme, and no colour on the screen, so that two variants show each of both.
CHECKED = (Variant("desktop", "light"), Variant("phone", "dark"))

# Select2, which Django's searches are, has a box without a name within the combobox. The combobox has one.
OURS = {"exclude": [[".select2-selection__rendered"]]}


def findings_of(browser: Browser, persona: Persona, data: SampleData) -> list[str]:
    """Return what is wrong with the pages of a persona."""
    return [
        f"{state.name}-{variant}: {check}: {fault}"
        for page, state, variant in views(browser, persona, data, CHECKED)
        for check, faults in findings(page, variant).items()
        for fault in faults
    ]


def findings(page: Page, variant: Variant) -> dict[str, list[str]]:
    """Return what is wrong with the page, by check. Empty: nothing is."""
    found = {
        "axe": _violations(page) if variant in CHECKED else [],  # takes most of the time
        "scrolls sideways": _too_wide(page, variant.width),
        "leaves its box": page.evaluate(OVERFLOWING),
        "cut without a title": page.evaluate(CUT_TEXTS),
        "squeezed columns": page.evaluate(SQUEEZED_COLUMNS),
        "invisible focus": page.evaluate(INVISIBLE_FOCUS),
        "unstyled fields": page.evaluate(UNSTYLED),
    }
    return {check: faults for check, faults in found.items() if faults}


def _violations(page: Page) -> list[str]:
    """Return all findings of axe, contrast (WCAG AA) among them."""
    answer = Axe().run(page, context=OURS, options={"resultTypes": ["violations"]}).response
    found: list[dict[str, Any]] = answer["violations"]
    return [
        f"{each['id']}: {' '.join(node['html'].split())[:160]}" for each in found for node in each["nodes"]
    ]


def _too_wide(page: Page, width: int) -> list[str]:
    actual = page.evaluate("document.documentElement.scrollWidth")
    return [f"{actual} px"] if actual > width else []
