"""The pages about the clients, made of the README of each and the table of their errors."""

import re
from pathlib import Path

import pytest
import sluice.resources
import sluice.scenarios  # noqa: F401  (for the classes of its errors)
from sluice import SluiceError

from config.environment.env import PROJECT
from developer_site import views
from developer_site.guides import guides
from developer_site.guides.guides import GUIDES, Guide
from developer_site.search.search import search

PAGES = ("python-client", "node-client")
TABLE = (PROJECT / "docs" / "client-errors.md").read_text()


def subclasses(kind):
    for each in kind.__subclasses__():
        if not each.__module__.startswith("sluice.cli"):
            yield each.__name__
        yield from subclasses(each)


def exported_by_node():
    sources = "".join(path.read_text() for path in (PROJECT / "clients" / "node" / "src").glob("*.ts"))
    pairs = re.findall(r"export class (\w+) extends (\w+)", sources)
    found = {"SluiceError"}
    while added := {name for name, base in pairs if base in found} - found:
        found |= added
    return found


def explained():
    rows = re.findall(r"^\| (`.+?) \|", TABLE, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


class TestTableOfErrors:
    def test_has_every_class_of_the_python_client(self):
        assert {"SluiceError", *subclasses(SluiceError)} <= explained()

    def test_has_every_class_of_the_node_client(self):
        errors = {"TransportError", "NotSent", "OutcomeUnknown", "DuplicateReference"}

        assert errors <= exported_by_node() <= explained()

    def test_has_no_other(self):
        assert explained() <= {"SluiceError", *subclasses(SluiceError), *exported_by_node()}


@pytest.mark.parametrize("slug", PAGES)
class TestPages:
    def test_show_the_readme_and_the_errors(self, client, slug):
        text = client.get(f"/docs/{slug}").content.decode()

        assert 'id="receive-webhooks"' in text
        assert '<h2 id="errors-of-the-clients"' in text
        assert "<code>OutcomeUnknown</code>" in text
        assert f'href="/docs/{slug}"' in client.get("/docs/").content.decode()

    def test_are_left_out_without_their_file(self, client, slug, monkeypatch):
        monkeypatch.setattr(views, "GUIDES", {name: each for name, each in GUIDES.items() if name != slug})

        assert client.get(f"/docs/{slug}").status_code == 404
        assert f'href="/docs/{slug}"' not in client.get("/docs/").content.decode()


def test_guide_without_a_file_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setattr(guides, "DOCS", tmp_path)

    assert not Guide("a", "A", "", "../clients/a/README.md").exists


@pytest.mark.parametrize("name", ["NoCredentials", "OutcomeUnknown", "NotSent", "ECONNREFUSED"])
def test_search_finds_what_the_clients_raise(name):
    first = search(name).shown[0]

    assert re.match("/docs/(python|node)-client#", first.address), first


def test_image_keeps_both_files():
    ignored = Path(PROJECT, ".dockerignore").read_text().splitlines()

    assert "clients/node" not in ignored
    assert "!clients/node/README.md" in ignored
