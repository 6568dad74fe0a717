"""A base image from Debian's packages, for machines without an image registry.

It has what the Dockerfile needs of `python:3.11-slim-bookworm`: `python` 3.11 and a `pip` that installs for the system.
The packed files are kept in IMAGE_CACHE (by default `~/.cache/sluice-image`); delete the folder to make them again.
"""

import hashlib
import os
import subprocess
import tempfile
from pathlib import Path

from tests.image.engine import Engine

RELEASE = "bookworm"
PACKAGES = "ca-certificates,python3,python3-pip,python3-venv"
# Caches, documentation, and files of the machine that debootstrap copies.
LEFT_OUT = (
    "./etc/hostname", "./etc/resolv.conf", "./usr/share/doc/*", "./usr/share/locale/*", "./usr/share/man/*",
    "./var/cache/apt/*", "./var/lib/apt/lists/*", "./var/log/*",
)  # fmt: skip
PATH = "/usr/local/bin:/usr/local/sbin:/usr/sbin:/usr/bin:/sbin:/bin"


def import_base_image(engine: Engine) -> str:
    """Import the base image, and return its name."""
    name = "localhost/python:3.11-debootstrap"
    engine.podman("import", "--quiet", "--change", f"ENV PATH={PATH}", str(_packed()), name, timeout=600)
    return name


def _packed() -> Path:
    """Return the packed files of the base image, after making them if necessary."""
    folder = Path(os.environ.get("IMAGE_CACHE") or Path.home() / ".cache" / "sluice-image")
    folder.mkdir(parents=True, exist_ok=True)
    packed = folder / f"{RELEASE}-{hashlib.sha256(Path(__file__).read_bytes()).hexdigest()[:12]}.tar"
    if not packed.exists():
        with tempfile.TemporaryDirectory(dir=folder) as work:
            root, unfinished = Path(work, "root"), Path(work, "base.tar")
            _bootstrap(root)
            excluded = [f"--exclude={pattern}" for pattern in LEFT_OUT]
            subprocess.run(["tar", "-C", root, *excluded, "-cf", unfinished, "."], check=True, timeout=300)
            unfinished.replace(packed)
    return packed


def _bootstrap(root: Path) -> None:
    command = ["debootstrap", "--variant=minbase", f"--include={PACKAGES}", RELEASE, str(root)]
    made = subprocess.run(command, capture_output=True, text=True, check=False, timeout=900)
    assert made.returncode == 0, made.stdout[-3000:] + made.stderr
    (root / "usr/local/bin/python").symlink_to("/usr/bin/python3.11")
    (root / "usr/lib/python3.11/EXTERNALLY-MANAGED").unlink()  # else pip refuses to install for the system
