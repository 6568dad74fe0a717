"""A payment link is shared from its page: a decoder reads its QR code everywhere, and the poster is one page of A4."""

import base64
import re

import pytest
import zxingcpp

from tests import orders
from tests.browser.chromium import visit

pytestmark = pytest.mark.e2e

GREYS = """
async (png) => {
  const picture = await createImageBitmap(await (await fetch(`data:image/png;base64,${png}`)).blob());
  const canvas = new OffscreenCanvas(picture.width, picture.height);
  const context = canvas.getContext("2d");
  context.drawImage(picture, 0, 0);
  const pixels = context.getImageData(0, 0, picture.width, picture.height).data;
  const greys = Array.from({ length: pixels.length / 4 }, (_, at) => pixels[4 * at]);
  return [picture.width, picture.height, greys];
}
"""
LONGEST_NAME = "Ọmọlará and Daughters, Booksellers " * 6  # 200 characters and more
CENTIMETRE = 96 / 2.54  # CSS pixels


@pytest.fixture
def link(owner):
    answer = owner.client.post("/api/payment-links", orders.payment_link(title="T" * 80))
    assert answer.status_code == 201, answer.text
    return answer.json()


@pytest.fixture
def page(service, owner, link, browser):
    with visit(browser, viewport={"width": 1280, "height": 1400}, color_scheme="dark") as seen:
        owner.sign_in(seen.page)
        seen.page.goto(f"{service.base_url}/dashboard/payment-links/{link['id']}/")
        yield seen.page
        assert seen.complaints == []
        assert seen.origins == {service.base_url}


def code_in(png, browser):
    """Return the text of the only code in a picture, with its level of error correction."""
    reader = browser.new_page()
    try:
        width, height, greys = reader.evaluate(GREYS, base64.b64encode(png).decode())
    finally:
        reader.close()
    [code] = zxingcpp.read_barcodes(memoryview(bytes(greys)).cast("B", (height, width)))
    assert code.format.name in {"QRCode", "QRCodeModel2"}
    return code.text, code.ec_level


def test_code_leads_to_the_link(page, link, browser):
    on_the_page = page.locator(".share__code").screenshot()
    with page.expect_download() as download:
        page.get_by_role("link", name="Download PNG").click()
    in_the_file = download.value.path().read_bytes()

    for picture in (on_the_page, in_the_file):
        assert code_in(picture, browser) == (link["url"], "M")
    assert download.value.suggested_filename == f"payment-link-{link['slug']}.png"


def test_svg_file_leads_to_the_link(page, link, browser):
    with page.expect_download() as download:
        page.get_by_role("link", name="Download SVG").click()
    viewer = browser.new_page()
    viewer.set_content(f"<body style='background: black'>{download.value.path().read_text()}")

    assert code_in(viewer.screenshot(full_page=True), browser) == (link["url"], "M")
    viewer.close()


def test_address_and_message_are_copied(page, link):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    for button, text in (("Copy address", link["url"]), ("Copy message", f"Pay here: {link['url']}")):
        page.get_by_role("button", name=button).click()
        page.get_by_text("Copied").first.wait_for()

        assert page.evaluate("navigator.clipboard.readText()").endswith(text)


@pytest.mark.parametrize("name", ["", LONGEST_NAME])
def test_poster_is_one_page_with_a_large_code(page, link, browser, name):
    page.get_by_role("link", name="Print poster").click()
    page.get_by_role("button", name="Print poster").wait_for()
    if name:
        page.locator(".poster__merchant").evaluate(
            "(each, name) => { each.textContent = name; each.classList.add('poster__merchant--long') }", name
        )
    page.emulate_media(media="print")

    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type ?/Page\b", pdf)) == 1
    assert re.search(rb"/MediaBox ?\[0 0 59[45][.\d]* 84[12][.\d]*\]", pdf)
    code = page.locator(".poster__code")
    assert code_in(code.screenshot(), browser) == (link["url"], "M")
    modules = int(page.locator(".poster__code svg").get_attribute("viewBox").split()[-1])
    assert code.bounding_box()["width"] * (modules - 8) / modules >= 8 * CENTIMETRE
    assert page.locator(".poster__check").inner_text() == (
        f"Check that the address begins with {link['url'].split('/')[2]}"
    )
