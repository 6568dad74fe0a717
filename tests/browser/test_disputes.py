"""A dispute in a real browser: from the list to the evidence, its review and the bank."""

import pytest
from playwright.sync_api import expect

from tests import orders
from tests.browser.people import press
from tests.uploads import JPEG, PDF, PNG

pytestmark = pytest.mark.e2e

TEXT = "Parcel 8842 was handed over to Ada Obi on 3 March."


@pytest.fixture
def dispute(owner):
    """A payment that its cardholder disputes."""
    customer = {"reference": "cus-7", "name": "Ada Obi", "email": "ada@shop.example"}
    payment = owner.client.post(
        "/api/payments", orders.card_payment(amount=250_077, customer=customer)
    ).json()
    owner.client.post("/api/sandbox/advance", {"payment": payment["reference"]})
    [opened] = owner.client.get("/api/disputes").json()["data"]
    return opened


@pytest.fixture
def page(service, owner, dispute, seen):
    """The page of the dispute, reached from the list."""
    owner.sign_in(seen.page, is_patient=True)
    seen.page.goto(f"{service.base_url}/dashboard/disputes/")
    assert fits(seen.page)
    press(seen.page, "Respond", "link")
    expect(seen.page.get_by_role("heading", level=1)).to_contain_text("NGN 2,500.77")
    yield seen.page
    assert seen.complaints == []
    assert seen.origins - {"data://"} == {service.base_url}


def fits(page):
    return page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def of_api(owner, dispute):
    return owner.client.get(f"/api/disputes/{dispute['id']}").json()


def test_is_answered_with_a_text_and_a_file(owner, dispute, page):
    page.get_by_label("What it shows").select_option("delivery")
    page.get_by_label("Add a file or take a photo").set_input_files(
        {"name": "Slip 8842.pdf", "mimeType": "application/pdf", "buffer": PDF}
    )
    page.get_by_label("Text").fill(TEXT)
    press(page, "Add to evidence")
    expect(page.get_by_text("1 of 10 files")).to_be_visible()
    assert fits(page)
    page.get_by_role("checkbox", name="Receipt").uncheck()
    press(page, "Review response")
    expect(page.get_by_role("heading", level=1)).to_have_text("Submit this response?")
    for shown in (TEXT, "Slip 8842.pdf", "Not sent:"):
        expect(page.get_by_text(shown).first).to_be_visible()
    assert fits(page)
    press(page, "Submit response")

    expect(page.get_by_text("Your response was submitted.")).to_be_visible()
    answered = of_api(owner, dispute)
    assert answered["status"] == "under_review"
    assert {item.get("text") or item["name"] for item in answered["evidence"]} == {"Slip 8842.pdf", TEXT}
    expect(page.get_by_role("button", name="Review response")).to_have_count(0)


def test_file_of_another_type_is_refused_and_the_text_stays(owner, dispute, page):
    page.get_by_label("What it shows").select_option("receipt")
    page.get_by_label("Add a file or take a photo").set_input_files(
        {"name": "slip.pdf", "mimeType": "application/pdf", "buffer": b"<svg/>"}
    )
    page.get_by_label("Text").fill(TEXT)
    press(page, "Add to evidence")

    expect(page.get_by_text("Choose a PDF, a PNG or a JPEG.").first).to_be_visible()
    expect(page.get_by_label("Text")).to_have_value(TEXT)
    assert of_api(owner, dispute)["evidence"] == []


def test_part_is_accepted_after_a_second_look(owner, dispute, page):
    press(page, "Accept dispute", "link")
    page.get_by_label("Amount to accept").fill("1,000.00")
    press(page, "Review")
    assert fits(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Accept NGN 1,000.00?")
    press(page, "Accept NGN 1,000.00")

    expect(page.get_by_text("You accepted this dispute.")).to_be_visible()
    accepted = of_api(owner, dispute)
    assert (accepted["status"], accepted["outcome_amount"]) == ("accepted", 150_077)


def test_evidence_is_removed_and_downloaded(owner, dispute, page):
    for name in ("Wrong slip.png", "Slip 8842.png"):
        png = {"name": name, "mimeType": "image/png", "buffer": PNG}
        page.get_by_label("What it shows").select_option("receipt")
        page.get_by_label("Add a file or take a photo").set_input_files(png)
        press(page, "Add to evidence")
    press(page, "Remove Wrong slip.png")

    with page.expect_download() as started:
        page.get_by_role("link", name="Download Slip 8842.png").click()
    [item] = of_api(owner, dispute)["evidence"]
    assert (item["name"], started.value.suggested_filename) == ("Slip 8842.png", f"{item['id']}.png")


def test_photo_is_added_with_the_camera_of_a_phone(owner, dispute, page):
    """Without `capture`, which skips the choice, phones offer the camera beside files for a field that takes photos."""
    page.get_by_label("What it shows").select_option("delivery")
    with page.expect_file_chooser() as opened:
        page.get_by_label("Add a file or take a photo").click()
    field = opened.value.element
    assert {"image/jpeg", "image/png"} < set(field.get_attribute("accept").split(","))
    assert field.get_attribute("capture") is None
    opened.value.set_files({"name": "IMG_0417.jpg", "mimeType": "image/jpeg", "buffer": JPEG})
    press(page, "Add to evidence")

    expect(page.get_by_text("IMG_0417.jpg").first).to_be_visible()
    assert fits(page)
    [photo] = of_api(owner, dispute)["evidence"]
    assert (photo["name"], photo["type"]) == ("IMG_0417.jpg", "image/jpeg")
