"""The package index and certificate authorities of this machine, as secrets of a build.

A build reads them as the files that the Dockerfile names. They don't become part of the image.
"""

import ast
import os
import shutil
import ssl
import subprocess
from pathlib import Path

PIP_OPTIONS = {
    "index-url",
    "extra-index-url",
    "proxy",
    "retries",
    "timeout",
    "default-timeout",
    "trusted-host",
}
PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy")
AUTHORITIES = "/etc/ssl/certs/ca-certificates.crt"


def builder_secrets(folder: Path) -> dict[str, Path]:
    """Write the secrets into a folder, and return their paths by name."""
    pip, uv = folder / "pip.conf", folder / "uv.toml"
    pip.write_text("\n".join(["[global]", f"cert = {AUTHORITIES}", *_pip_options()]) + "\n")
    index = os.environ.get("UV_DEFAULT_INDEX") or os.environ.get("UV_INDEX_URL")
    uv.write_text(
        "system-certs = true\n" + (f'[[index]]\nurl = "{index}"\ndefault = true\n' if index else "")
    )
    return {
        "pip.conf": pip,
        "uv.toml": uv,
        "certificates": Path(ssl.get_default_verify_paths().cafile or AUTHORITIES),
    }


def proxies() -> dict[str, str]:
    """Return the proxies of the environment. Build arguments of these names don't become part of an image."""
    return {name: os.environ[name] for name in PROXIES if os.environ.get(name)}


def _pip_options() -> list[str]:
    """Return what pip's configuration and environment say about indexes, except those on this machine's disk."""
    pip = shutil.which("pip") or shutil.which("pip3")
    if pip is None:
        return []
    listed = subprocess.run(
        [pip, "config", "list"], capture_output=True, text=True, check=True, timeout=60
    ).stdout
    found = []
    for line in listed.splitlines():
        name, _, value = line.partition("=")
        option = name.rpartition(".")[2]
        text = " ".join(word for word in str(ast.literal_eval(value)).split() if not word.startswith("file:"))
        if option in PIP_OPTIONS and text:
            found.append(f"{option} = {text}")
    return found
