import gzip
from pathlib import Path

from django.contrib.staticfiles import finders
from django.http import HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from config.middleware import Compression


def answered(response):
    request = RequestFactory().get("/", headers={"Accept-Encoding": "gzip, br"})
    return Compression(lambda _: response)(request)


def test_compresses_a_page_for_browsers_that_accept_it(client):
    plain = client.get("/docs/signing")
    compressed = client.get("/docs/signing", headers={"Accept-Encoding": "gzip"})

    assert "Content-Encoding" not in plain
    assert compressed["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in compressed["Vary"]
    assert gzip.decompress(compressed.content) == plain.content
    assert len(compressed.content) < len(plain.content) / 3


def test_compresses_a_style_sheet(client):
    answer = client.get("/static/css/tokens.css", headers={"Accept-Encoding": "gzip"})

    source = Path(finders.find("css/tokens.css")).read_bytes()
    assert gzip.decompress(b"".join(answer.streaming_content)) == source


def test_leaves_fonts_and_files_that_are_compressed_already():
    for kind in ("font/woff2", "image/png", "application/pdf"):
        assert "Content-Encoding" not in answered(HttpResponse(b"a" * 1000, content_type=kind))


def test_leaves_a_range_of_a_file():
    part = StreamingHttpResponse([b"a" * 1000], status=206, content_type="text/css")

    assert "Content-Encoding" not in answered(part)


def test_leaves_answers_of_the_api():
    assert "Content-Encoding" not in answered(HttpResponse(b"a" * 1000, content_type="application/json"))
