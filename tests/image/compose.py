"""The services of docker-compose.yml as arguments of Podman."""

import shlex
from dataclasses import dataclass
from typing import Any

import yaml

from tests.journeys.service import PROJECT

SERVICES: dict[str, Any] = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())["services"]


@dataclass(frozen=True)
class HealthCheck:
    """A command that succeeds in a healthy container, and its times in seconds.

    The first success makes a container healthy. After the start period, `retries` failures make it unhealthy.
    """

    command: list[str]
    interval: float
    timeout: float
    start_period: float
    retries: int

    @classmethod
    def of_image(cls, declared: dict[str, Any]) -> "HealthCheck":
        """Read a HEALTHCHECK instruction, whose times are in nanoseconds."""
        times = (declared[key] / 1e9 for key in ("Interval", "Timeout", "StartPeriod"))
        return cls(declared["Test"][1:], *times, declared["Retries"])

    @classmethod
    def of_service(cls, declared: dict[str, Any]) -> "HealthCheck":
        """Read a `healthcheck` of docker-compose.yml."""
        times = (float(declared[key].removesuffix("s")) for key in ("interval", "timeout", "start_period"))
        return cls(declared["test"][1:], *times, declared["retries"])


def privileges(name: str) -> list[str]:
    """Return the options that restrict a service."""
    service = SERVICES[name]
    assert service["read_only"] is True
    options = ["--read-only", "--read-only-tmpfs=false"]  # else Podman makes further folders writable
    options += [f"--tmpfs={path}" for path in service["tmpfs"]]
    options += [f"--cap-drop={capability}" for capability in service["cap_drop"]]
    return options + [f"--security-opt={option.removesuffix(':true')}" for option in service["security_opt"]]


def command(name: str) -> list[str]:
    """Return a service's command, empty for the image's own."""
    return shlex.split(SERVICES[name].get("command", ""))


def grace_period(name: str) -> int:
    """Return the seconds that a service has to stop."""
    return int(SERVICES[name].get("stop_grace_period", "10s").removesuffix("s"))
