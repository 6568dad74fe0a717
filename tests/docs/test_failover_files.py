"""The Compose example of a standby matches docker-compose.yml."""

import re
from pathlib import Path

import yaml

from config.environment import database_url

PROJECT = Path(__file__).resolve().parents[2]
BASE = yaml.safe_load((PROJECT / "docker-compose.yml").read_text())
EXAMPLE = yaml.safe_load((PROJECT / "docs" / "operations" / "compose.failover.yml").read_text())
PRIMARY, STANDBY = EXAMPLE["services"]["postgres"], EXAMPLE["services"]["postgres-standby"]


def options(command):
    return re.findall(r"-c (\S+)", command)


def test_standby_is_like_the_primary():
    primary = BASE["services"]["postgres"]

    for name in ("image", "networks", "shm_size", "stop_grace_period", "healthcheck", "logging"):
        assert STANDBY[name] == primary[name]
    assert options(STANDBY["command"]) == options(primary["command"])


def test_processes_know_both_servers():
    ours = {name for name, service in BASE["services"].items() if service.get("image") == "sluice"}
    added = {name for name in EXAMPLE["services"] if name in ours}

    assert added == ours
    for name in ours:
        url = EXAMPLE["services"][name]["environment"]["DATABASE_URL"]
        read = database_url.read(re.sub(r"\$\{[^}]+\}", "secret", url))
        assert (read["HOST"], read["PORT"]) == ("postgres,postgres-standby", "5432,5432")
        before = BASE["services"][name]["environment"]["DATABASE_URL"]
        assert url.partition("@")[0] == before.partition("@")[0]


def test_lost_servers_do_not_restart():
    assert PRIMARY["restart"] == STANDBY["restart"] == "no"


def test_mounted_files_exist():
    mounted = [volume for volume in PRIMARY["volumes"] + STANDBY["volumes"] if volume.startswith("./")]

    assert len(mounted) == 2
    assert all((PROJECT / volume.partition(":")[0]).is_file() for volume in mounted)
    assert STANDBY["volumes"][0].partition(":")[0] in EXAMPLE["volumes"]


def test_adds_known_services_only():
    assert set(EXAMPLE["services"]) - set(BASE["services"]) == {"postgres-standby"}
