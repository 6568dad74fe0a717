"""Run nginx with docs/operations/nginx.conf, the proxy configuration that we provide."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from config.runtime import local_production
from kit.free_ports import free_port
from tests.journeys.service import PROJECT, wait_until_open

NGINX = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")

needs_nginx: Any = pytest.mark.skipif(not NGINX and not os.environ.get("CI"), reason="nginx is not installed")


@dataclass(frozen=True)
class Proxy:
    """A running proxy: its ports and its certificate."""

    plain: int
    tls: int
    certificate: Path

    @property
    def base_url(self) -> str:
        return f"https://127.0.0.1:{self.tls}"


CONFIGURATION = (PROJECT / "docs" / "operations" / "nginx.conf").read_text()


@contextmanager
def nginx(folder: Path, *, upstream: str, configuration: str = CONFIGURATION) -> Iterator[Proxy]:
    """Run nginx with our configuration; only ports and paths are replaced."""
    certificate, _ = local_production._certificate(folder)
    proxy = Proxy(free_port(), free_port(), certificate)
    (folder / "sluice.conf").write_text(_with_paths(configuration, folder, proxy, upstream))
    # nginx's own folders for logs and temporary files belong to root.
    temporary = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    (folder / "nginx.conf").write_text(
        f"daemon off; pid {folder}/pid; error_log {folder}/error.log; user {folder.owner()};\n"
        f"events {{}}\nhttp {{ access_log off; {temporary} include {folder}/sluice.conf; }}\n"
    )
    assert NGINX is not None, "nginx is not installed; on Debian: apt-get install nginx-light"
    process = subprocess.Popen([NGINX, "-c", folder / "nginx.conf", "-e", folder / "error.log"])
    try:
        wait_until_open(proxy.tls, process)
        yield proxy
    finally:
        process.terminate()
        process.wait(timeout=20)


def _with_paths(text: str, folder: Path, proxy: Proxy, upstream: str) -> str:
    for theirs, ours in (
        ("/etc/nginx/certificates/", f"{folder}/"),
        ("server web:8000;", f"server {upstream};"),
        ("Host $host;", f"Host $host:{proxy.tls};"),
        ("listen 80 ", f"listen 127.0.0.1:{proxy.plain} "),
        ("listen 443 ", f"listen 127.0.0.1:{proxy.tls} "),
    ):
        assert theirs in text
        text = text.replace(theirs, ours)
    return text
