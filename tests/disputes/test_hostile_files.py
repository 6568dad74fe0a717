"""Files that attack who opens them: refused, or stored and sent so that nothing runs, in little memory."""

import tracemalloc

import pytest

from disputes.models import DisputeEvidence
from tests.disputed import disputed, payment_of
from tests.uploads import PNG

pytestmark = pytest.mark.django_db

PAGES = 100_000
MEMORY = 40 * 2**20  # bytes: the body, its copies for signature and database, and room

POLYGLOTS = {
    "application/pdf": b"%PDF-1.7\n<script>alert(1)</script>\nPK\x03\x04"
    + b"0" * 50
    + b"PK\x05\x06"
    + b"\0" * 18,
    "image/png": PNG + b"<?php system('id'); ?><svg onload=alert(1)>",
    "image/jpeg": b"\xff\xd8\xff\xfe\x00\x29/*<html><script>alert(1)</script>*/....\xff\xc0\x00\x11\x08\x00\x40\x00\x40\x03",
}
NAMES = [
    "../../../etc/passwd", "..\\..\\windows\\win.ini", "/absolute.png", "..", ".htaccess", "a\u202egnp.exe", "x" * 5_000 + ".png",
    "CON", "a;b='c'\"d", "file.png.php", "<img src=x onerror=1>.png", "%2e%2e%2fpasswd", "receipt\x0d\x0aSet-Cookie: a=b",
]  # fmt: skip
REFUSED = {
    "an SVG": b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>",
    "an SVG with a PNG behind it": b"<svg/>" + PNG,
    "a PDF with bytes before it": b"\n" + POLYGLOTS["application/pdf"],
    "a PNG without a size": b"\x89PNG\r\n\x1a\n<html><script>alert(1)</script>",
    "a JPEG without a frame": b"\xff\xd8\xff\xe0/*<html><script>alert(1)</script>*/",
    "a JPEG of segments without end": b"\xff\xd8" + b"\xff\xe0\x00\x02" * 1_000_000,
    "a PDF without a version": b"%PDF-<script>alert(1)</script>",
    "HTML": b"<!doctype html><script>alert(1)</script>",
    "a program": b"\x7fELF" + b"0" * 100,
}


@pytest.fixture
def dispute(api):
    return disputed(payment_of(api))


@pytest.fixture
def upload(api, dispute):
    def send(content, *, name="receipt.png", content_type="image/png"):
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        address = f"/api/disputes/{dispute.pk}/files?kind=receipt"
        return api.send("POST", address, content, content_type=content_type, headers=headers)

    return send


@pytest.mark.parametrize("content_type", POLYGLOTS)
def test_polyglot_is_sent_as_attachment_of_its_first_type(api, dispute, upload, content_type):
    content = POLYGLOTS[content_type]
    item = upload(content, name="page.html", content_type="text/html").json()

    sent = api.get(f"/api/disputes/{dispute.pk}/files/{item['id']}")

    assert sent.content == content
    assert sent.headers["Content-Type"] == item["type"] == content_type
    assert sent.headers["Content-Disposition"].startswith(f'attachment; filename="{item["id"]}.')
    assert sent.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize("what", REFUSED)
def test_content_of_another_type_is_refused(upload, what):
    answer = upload(REFUSED[what])

    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert not DisputeEvidence.objects.exists()


def test_pdf_of_100_000_pages_is_stored_unopened(upload):
    pages = b"".join(b"%d 0 obj<</Type/Page>>endobj\n" % number for number in range(PAGES))
    content = b"%PDF-1.7\n" + pages
    tracemalloc.start()

    answer = upload(content, content_type="application/pdf")

    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (answer.status_code, answer.json()["size"]) == (201, len(content))
    assert peak < MEMORY


@pytest.mark.parametrize("name", NAMES, ids=range(len(NAMES)))
def test_name_is_no_path_and_no_markup(upload, name):
    stored = upload(PNG, name=name).json()["name"]

    assert 0 < len(stored) <= 100
    assert stored.endswith(".png")
    assert not stored.startswith(".")
    assert not set(stored) & set("/\\<>\"';%\r\n\u202e")
