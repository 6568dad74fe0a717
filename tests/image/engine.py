"""Buildah and Podman with images, containers and configuration in a folder of their own."""

import json
import os
import resource
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

# Works as root on machines without systemd, and where processes may not raise their limits.
CONFIGURATION = """
[containers]
cgroups = "disabled"
default_ulimits = [{limits}]
log_driver = "k8s-file"
netns = "host"
[engine]
cgroup_manager = "cgroupfs"
events_logger = "none"
lock_type = "file"
runtime = "crun"
"""
STORAGE = """
[storage]
driver = "{driver}"
graphroot = "{folder}/images"
runroot = "{folder}/run"
"""

LIMIT = 16_384  # open files and processes of a container


class Engine:
    """Builds images and runs containers. STORAGE_DRIVER overrides the storage driver."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        limits = ", ".join((_limit("nofile"), _limit("nproc")))
        (folder / "containers.conf").write_text(CONFIGURATION.format(limits=limits))
        driver = "overlay" if _can_mount_overlay() else "vfs"
        (folder / "storage.conf").write_text(STORAGE.format(driver=driver, folder=folder))
        (folder / "tmp").mkdir()
        self._environment = os.environ | {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
            "TMPDIR": str(folder / "tmp"),
        }

    def podman(self, *arguments: str, **options: Any) -> str:
        """Run Podman and return its output. Pass `timeout` for a command that may take longer than two minutes."""
        return self._output(["podman", *arguments], **{"timeout": 120} | options)

    def build(
        self, context: Path, tag: str, *, arguments: Mapping[str, str], secrets: Mapping[str, Path]
    ) -> None:
        """Build an image from a folder's Dockerfile, with a layer per instruction."""
        command = [
            "buildah",
            "build",
            "--isolation",
            "chroot",
            "--format",
            "docker",
            "--layers",
            "--tag",
            tag,
        ]
        command += [f"--build-arg={name}={value}" for name, value in arguments.items()]
        command += [f"--secret=id={name},src={path}" for name, path in secrets.items()]
        self._output([*command, str(context)], timeout=1_200)

    def inspect(self, name: str, kind: str = "image") -> dict[str, Any]:
        """Return Podman's description of an image or container."""
        found: dict[str, Any] = json.loads(self.podman("inspect", "--type", kind, name))[0]
        return found

    def log(self, container: str) -> str:
        """Return the last lines that a container's processes wrote."""
        command = ["podman", "logs", "--tail", "50", container]
        options: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        return subprocess.run(
            command, env=self._environment, text=True, errors="replace", check=True, timeout=60, **options
        ).stdout

    def _output(self, command: list[str], **options: Any) -> str:
        done = subprocess.run(
            command,
            env=self._environment,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            **options,
        )
        if done.returncode != 0:
            raise AssertionError(
                f"{command}: exit code {done.returncode}\n{done.stdout[-3000:]}\n{done.stderr[-3000:]}"
            )
        return done.stdout


@contextmanager
def running_engine(folder: Path) -> Iterator[Engine]:
    engine = Engine(folder)
    try:
        yield engine
    finally:
        engine.podman("rm", "--all", "--force", "--time", "5")


def _limit(name: str) -> str:
    """Return a limit on resources for containers, which is no higher than ours."""
    _, hard = resource.getrlimit(getattr(resource, f"RLIMIT_{name.upper()}"))
    limit = LIMIT if hard == resource.RLIM_INFINITY else min(hard, LIMIT)
    return f'"{name}={limit}:{limit}"'


def _can_mount_overlay() -> bool:
    """Return whether layers can be mounted over each other. Otherwise, each layer and container is a full copy."""
    with tempfile.TemporaryDirectory() as folder:
        lower, upper, work, merged = (Path(folder) / name for name in ("lower", "upper", "work", "merged"))
        for path in (lower, upper, work, merged):
            path.mkdir()
        options = f"lowerdir={lower},upperdir={upper},workdir={work}"
        mount = ["mount", "-t", "overlay", "overlay", "-o", options, str(merged)]
        if subprocess.run(mount, check=False, capture_output=True, timeout=30).returncode != 0:
            return False
        subprocess.run(["umount", str(merged)], check=True, timeout=30)
        return True
