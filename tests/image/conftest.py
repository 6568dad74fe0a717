"""The image, built once, and the service that runs from it. The summary reports sizes and times."""

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.image.base_image import import_base_image
from tests.image.builder_settings import builder_secrets, proxies
from tests.image.deployment import Deployment, deployed
from tests.image.engine import Engine, running_engine
from tests.image.namespaces import private_mounts
from tests.journeys.service import PROJECT

PROGRAMS = ("buildah", "podman", "crun", "debootstrap", "ip", "redis-server")
REPORT: list[str] = []


@dataclass(frozen=True)
class Image:
    engine: Engine
    name: str
    base: str


@pytest.fixture(scope="session")
def folder() -> Iterator[Path]:
    """Images, containers and logs, deleted at the end."""
    made = Path(tempfile.mkdtemp(prefix="sluice-image-"))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made)


@pytest.fixture(scope="session")
def engine(folder: Path) -> Iterator[Engine]:
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    assert not missing, f"Install {', '.join(missing)}; on Debian: apt-get install {' '.join(missing)}"
    assert os.geteuid() == 0, (
        "Containers have mounts and networks of their own here, which only root may make."
    )
    with private_mounts(), running_engine(folder) as running:
        yield running


@pytest.fixture(scope="session")
def image(engine: Engine, folder: Path) -> Image:
    started = time.monotonic()
    base = import_base_image(engine)
    imported = time.monotonic()
    secrets = folder / "secrets"
    secrets.mkdir()
    arguments = {"BASE_IMAGE": base, "REVISION": _revision(), **proxies()}
    engine.build(PROJECT, "localhost/sluice", arguments=arguments, secrets=builder_secrets(secrets))
    built = time.monotonic()
    driver = engine.podman("info", "--format", "{{.Store.GraphDriverName}}").strip()
    REPORT.append(
        f"base {imported - started:.0f} s, build {built - imported:.0f} s (storage driver {driver})"
    )
    return Image(engine, "localhost/sluice", base)


@pytest.fixture(scope="session")
def deployment(image: Image, folder: Path) -> Iterator[Deployment]:
    with deployed(image.engine, image.name, folder) as running:
        yield running
        REPORT.extend(f"{service} {health}" for service, health in running.health.items())


def _revision() -> str:
    found = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=PROJECT, capture_output=True, text=True, check=False, timeout=30
    )
    return found.stdout.strip()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for line in REPORT:
        terminalreporter.write_line(line)
