"""The image as it is built: its contents, its layers and what it says about itself."""

import json
import tomllib

import pytest

from config import settings
from tests.image.conftest import REPORT
from tests.journeys.service import PROJECT
from tests.packages import PACKAGES

pytestmark = [pytest.mark.image, pytest.mark.timeout(1_800)]  # seconds; not a limit on speed

FILES = {".env.example", "CHANGELOG.md", "manage.py", "pyproject.toml"}
FOLDERS = {"clients", "docs", "static", "staticfiles", "templates"}


def output(image, *command):
    return image.engine.podman("run", "--rm", "--no-healthcheck", "--user=0", image.name, *command)


class TestImage:
    def test_contains_only_what_the_service_needs(self, image):
        listed = set(output(image, "ls", "--almost-all", "/app").split())

        assert listed - {"__pycache__"} == PACKAGES | FILES | FOLDERS
        of_clients = output(image, "find", "/app/clients", "-type", "f").split()
        assert sorted(of_clients) == ["/app/clients/node/README.md", "/app/clients/python/README.md"]
        patterns = ("-name tests", "-path */docs/decisions", "-name .git*", "-name *.sqlite3", "-name *.pem")
        unwanted = " -o ".join(patterns).split()
        assert output(image, "find", "/app", *unwanted) == ""

    def test_contains_compiled_modules(self, image):
        count = "find /app -name '*.py' | wc -l; find /app -name '*.pyc' | wc -l"

        modules, compiled = output(image, "sh", "-c", count).split()

        assert int(modules) == int(compiled) > 0

    def test_contains_no_setting_of_its_builder(self, image):
        assert (
            output(image, "sh", "-c", "ls -d /etc/pip.conf /etc/uv /run/secrets/* 2>/dev/null || true") == ""
        )
        assert output(image, "find", "/", "-xdev", "-name", "uv.lock") == ""

    def test_belongs_to_root_and_runs_as_a_user_without_rights(self, image):
        description = image.engine.inspect(image.name)

        assert description["User"] == "10001"
        assert output(image, "find", "/app", "/venv", "!", "-user", "root") == ""

    def test_has_labels(self, image):
        labels = image.engine.inspect(image.name)["Labels"]

        version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
        assert labels["org.opencontainers.image.title"] == "Sluice"
        assert (
            labels["org.opencontainers.image.version"] == version == settings.SPECTACULAR_SETTINGS["VERSION"]
        )
        assert len(labels["org.opencontainers.image.revision"]) == 40

    def test_has_packages_and_code_in_layers_of_their_own(self, image):
        history = json.loads(image.engine.podman("history", "--format", "json", image.name))
        base = image.engine.inspect(image.base)
        total = image.engine.inspect(image.name)["Size"]

        layers = [(layer["size"], layer["CreatedBy"]) for layer in reversed(history) if layer["size"] > 0]
        REPORT.append(f"image {total / 1e6:.0f} MB, of which the base {base['Size'] / 1e6:.0f} MB")
        REPORT.extend(f"  layer {size / 1e6:7.2f} MB  {created[:90]}" for size, created in layers)
        of_copies = [size for size, created in layers if "COPY" in created]
        assert len(of_copies) == 2
        assert total - base["Size"] == pytest.approx(sum(size for size, _ in layers) - layers[0][0], rel=0.1)
