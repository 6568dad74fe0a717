"""Files for operators (rules, dashboard, units, images and the guide) match the code and each other."""

import json
import os
import re
import shlex
import shutil
import subprocess
import tomllib
from configparser import ConfigParser
from functools import cache
from pathlib import Path

import pytest
import yaml
from celery.bin.celery import celery
from django.core.management import get_commands, load_command_class
from django.urls import resolve
from prometheus_client import REGISTRY

from config import settings
from config.errors.error_codes import ERROR_CODES
from config.errors.problems import BadRequest
from connectors import metrics as _connectors
from developer_site.guides import guides
from operations import metrics
from payments import metrics as _payments
from tests.packages import PACKAGES
from webhooks import metrics as _webhooks

PROJECT = Path(__file__).resolve().parents[2]
OPERATIONS = PROJECT / "docs" / "operations"
GUIDE = (PROJECT / "docs" / "operations.md").read_text()
ALERTS = yaml.safe_load((OPERATIONS / "alerts.yml").read_text())
DASHBOARD = json.loads((OPERATIONS / "grafana.json").read_text())
DOCKERFILE = (PROJECT / "Dockerfile").read_text()
COMPOSE_TEXT = (PROJECT / "docker-compose.yml").read_text()
COMPOSE = yaml.safe_load(COMPOSE_TEXT)

RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]
QUERIES = [target["expr"] for panel in DASHBOARD["panels"] for target in panel["targets"]]
SUFFIXES = ("", "_bucket", "_count", "_sum", "_total")


@cache
def metric_names():
    """Return every metric name in the exposition with its labels."""
    assert _connectors.WEBHOOKS
    assert _payments.OUTCOMES
    assert _webhooks.ATTEMPTS
    counted = {
        f"{family.name}{suffix}"
        for family in REGISTRY.collect()
        for suffix in SUFFIXES
        if family.name.startswith("sluice_")
    }
    source = Path(metrics.__file__).read_text()
    return counted | set(re.findall(r'GaugeMetricFamily\(\s*"(sluice_\w+)"', source))


def labels_of(names):
    """Return the labels of these metrics: declared ones for counters and histograms, constructed ones for
    the others.
    """
    known = {
        name: set(made._labelnames)
        for name, made in REGISTRY._names_to_collectors.items()
        if hasattr(made, "_labelnames")
    }
    gauges = re.findall(
        r'GaugeMetricFamily\(\s*"(\w+)",[^)]*?labels=[\[(]([^\])]*)', Path(metrics.__file__).read_text()
    )
    known |= {name: set(re.findall(r'"(\w+)"', labels)) for name, labels in gauges}
    return set().union(*(known.get(name, set()) for name in names))


class TestRulesAndDashboard:
    def test_use_existing_metrics(self, subtests):
        for query in [*(rule["expr"] for rule in RULES), *QUERIES]:
            with subtests.test(query=query):
                names = set(re.findall(r"sluice_\w+", query))

                assert names
                assert names <= metric_names()
                assert query.count("(") == query.count(")")
                assert query.count("{") == query.count("}")

    def test_use_existing_labels(self, subtests):
        for query in [*(rule["expr"] for rule in RULES), *QUERIES]:
            with subtests.test(query=query):
                asked = set(re.findall(r"(\w+)(?:=~|!~|!=|=)\"", query))
                for group in re.findall(r"by \(([\w, ]+)\)", query):
                    asked |= set(group.split(", "))

                assert asked <= labels_of(set(re.findall(r"sluice_\w+", query))) | {"instance", "job", "le"}

    def test_link_to_a_section_of_the_guide(self, subtests):
        for rule in RULES:
            with subtests.test(rule=rule):
                page, _, anchor = rule["annotations"]["runbook"].partition("#")

                assert page == "docs/operations.md"
                assert f"### {rule['alert']}\n" in GUIDE
                assert f'id="{anchor}"' in guides.page_of(guides.GUIDES["operations"]).html
                assert rule["labels"]["severity"] in {"page", "ticket"}

    def test_show_every_metric(self):
        everything = " ".join([*(rule["expr"] for rule in RULES), *QUERIES])

        ours = {re.sub(r"_(bucket|count|sum|total)$", "", name) for name in metric_names()}
        assert {name for name in ours if name not in everything} == set()

    def test_of_the_dashboard_do_not_overlap(self):
        places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in DASHBOARD["panels"]]

        assert len(set(places)) == len(places)
        assert len({panel["id"] for panel in DASHBOARD["panels"]}) == len(places)


class TestGuide:
    def test_mentions_existing_commands_only(self):
        named = set(re.findall(r"manage\.py (\w+)", GUIDE))
        table = GUIDE.partition("## Regular work")[2]
        named |= set(re.findall(r"\| `(\w+)` \|$", table, re.MULTILINE))

        missing = named - set(get_commands()) - {"check_ledger", "settle"}

        assert missing == set()

    @pytest.mark.parametrize("name", ["doctor", "support_bundle", "rewrite_secrets", "reset_second_factor"])
    def test_of_each_command_has_an_example(self, name):
        assert f"manage.py {name}" in load_command_class(get_commands()[name], name).help

    def test_mentions_existing_settings_only(self):
        example = (PROJECT / ".env.example").read_text()

        others = set(re.findall(r"\$\{([A-Z_]+)", (PROJECT / "docker-compose.yml").read_text())) | {
            "REDISCLI_AUTH"
        }
        for name in set(re.findall(r"`([A-Z][A-Z_]{5,})(?:=[^`]*)?`", GUIDE)) - others:
            assert re.search(rf"^{name}=", example, re.MULTILINE), name


class TestImage:
    def test_gives_the_processes_no_privileges(self):
        lines = (PROJECT / "Dockerfile").read_text().splitlines()

        assert "USER 10001" in lines
        assert not any(re.match(r"(ADD|COPY) .*(\.env|var)\b", line) for line in lines)
        assert any(line.startswith("HEALTHCHECK") for line in lines)

    def test_contains_every_package_and_otherwise_what_dockerignore_lists(self):
        lines = (PROJECT / ".dockerignore").read_text().splitlines()
        rules = [line for line in lines if not line.startswith("#")]

        assert rules[0] == "*"
        listed = {rule[1:] for rule in rules if rule.startswith("!")}
        assert listed >= PACKAGES | {"manage.py", "static", "templates", "docs"}
        assert not listed & {".env", ".git", ".venv", "certificates", "clients", "tests", "var"}
        assert all((PROJECT / name).exists() for name in listed)

    def test_states_the_version_of_the_project(self):
        version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]

        assert f'org.opencontainers.image.version="{version}"' in DOCKERFILE

    def test_is_built_from_an_image_that_the_build_can_override(self):
        default = re.search(r"^ARG BASE_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE)[1]

        assert set(re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)) == {"${BASE_IMAGE}"}
        assert COMPOSE["x-sluice"]["build"]["args"]["BASE_IMAGE"] == f"${{BASE_IMAGE:-{default}}}"

    def test_is_pinned_by_digest(self):
        images = re.findall(r"^ARG BASE_IMAGE=(\S+)$", DOCKERFILE, re.MULTILINE)
        images += re.findall(r"\$\{[A-Z]+_IMAGE:-([^}]+)\}", COMPOSE_TEXT)

        assert len(images) == 5
        assert all(re.fullmatch(r"[a-z]+:[a-z0-9.-]+@sha256:[0-9a-f]{64}", image) for image in images)

    def test_can_be_updated_to_current_digests(self, tmp_path):
        """`make pin-images` prints every image of the Compose file with the digest that docker
        reports for its tag.
        """
        program = tmp_path / "docker"
        program.write_text(
            '#!/bin/sh\n[ "$3" = inspect ] && echo "sha256:$(printf %s "$4" | sha256sum | cut -c-64)"\n'
        )
        program.chmod(0o755)
        environment = {"PATH": f"{tmp_path}:{os.environ['PATH']}"}
        make = ["make", "--no-print-directory", "pin-images"]

        pinned = subprocess.run(
            make, cwd=PROJECT, env=environment, capture_output=True, text=True, check=True
        ).stdout

        images = [one["image"] for one in COMPOSE["services"].values() if one["image"] != "sluice"]
        named = {re.fullmatch(r"\$\{([A-Z]+_IMAGE):-(\S+)@\S+\}", image).groups() for image in images}
        named |= {("BASE_IMAGE", "python:3.11-slim-bookworm")}
        assert len(named) == 4
        lines = pinned.splitlines()
        assert {tuple(line.partition("@")[0].split("=")) for line in lines} == named
        assert all(re.fullmatch(r"[A-Z]+_IMAGE=\S+@sha256:[0-9a-f]{64}", line) for line in lines)

    def test_is_not_pinned_if_the_registry_does_not_respond(self, tmp_path):
        program = tmp_path / "docker"
        program.write_text("#!/bin/sh\nexit 1\n")
        program.chmod(0o755)

        ended = subprocess.run(
            ["make", "--no-print-directory", "pin-images"],
            cwd=PROJECT, env={"PATH": f"{tmp_path}:{os.environ['PATH']}"}, capture_output=True, text=True, check=False,
        )  # fmt: skip

        assert ended.returncode == 2
        assert "can't be looked up" in ended.stderr
        assert ended.stdout == ""

    @pytest.mark.parametrize("name", ["migrate", "web", "worker", "beat"])
    def test_runs_read_only(self, name):
        service = COMPOSE["services"][name]

        assert service["read_only"] is True
        assert service["tmpfs"] == ["/tmp"]  # noqa: S108  (in memory)
        assert service["cap_drop"] == ["ALL"]
        assert service["environment"]["ENVIRONMENT"] == "production"

    def test_is_reachable_through_the_proxy_only(self):
        published = [name for name, service in COMPOSE["services"].items() if "ports" in service]

        assert published == ["proxy"]
        ours = {"migrate", "web", "worker", "requery", "beat"}
        assert set(COMPOSE["services"]) == {"postgres", "redis", *ours, "proxy"}

    def test_keeps_database_and_redis_in_internal_networks(self):
        services, networks = COMPOSE["services"], COMPOSE["networks"]

        assert services["redis"]["networks"] == ["redis"]
        assert services["postgres"]["networks"] == ["database"]
        assert networks["redis"] == networks["database"] == {"internal": True}
        assert "networks" not in services["proxy"]
        assert all(
            {"redis", "database"} <= set(services[name]["networks"]) for name in ("web", "worker", "beat")
        )

    def test_drops_the_proxys_capabilities_but_those_it_starts_with(self):
        proxy = COMPOSE["services"]["proxy"]

        assert proxy["cap_drop"] == ["ALL"]
        assert set(proxy["cap_add"]) == {"CHOWN", "NET_BIND_SERVICE", "SETGID", "SETUID"}
        assert proxy["security_opt"] == ["no-new-privileges:true"]

    def test_connects_with_a_role_that_is_no_superuser(self):
        postgres = COMPOSE["services"]["postgres"]
        [script] = [volume for volume in postgres["volumes"] if "initdb.d" in volume]

        assert COMPOSE["services"]["web"]["environment"]["DATABASE_URL"].startswith("postgres://sluice:")
        assert postgres["environment"]["POSTGRES_USER"] != "sluice"
        assert "CREATE ROLE sluice LOGIN" in (PROJECT / script.partition(":")[0]).read_text()

    def test_gives_redis_a_password(self):
        redis, web = COMPOSE["services"]["redis"], COMPOSE["services"]["web"]

        assert redis["environment"]["REDISCLI_AUTH"].startswith("${REDIS_PASSWORD:?")
        assert "requirepass $$REDISCLI_AUTH" in redis["command"][-1]
        assert web["environment"]["REDIS_URL"].startswith("redis://:${REDIS_PASSWORD:?")
        assert redis["user"] == "redis"
        assert redis["cap_drop"] == ["ALL"]

    def test_waits_for_its_dependencies(self):
        for service in COMPOSE["services"].values():
            for needed, how in service.get("depends_on", {}).items():
                condition, other = how["condition"], COMPOSE["services"][needed]
                assert condition != "service_healthy" or "healthcheck" in other or needed == "web"


class TestUnits:
    @pytest.fixture
    def units(self, tmp_path):
        """The units, with paths of programs that exist here."""
        for path in (OPERATIONS / "systemd").iterdir():
            text = re.sub(r"/opt/sluice/current/\S+", "/bin/true", path.read_text())
            (tmp_path / path.name.replace("@.", "@1.")).write_text(text)
        return sorted(tmp_path.iterdir())

    def test_are_valid(self, units):
        program = shutil.which("systemd-analyze")
        if program is None:
            pytest.skip("systemd is not installed")

        checked = subprocess.run(
            [program, "verify", *units], capture_output=True, text=True, timeout=60, check=False
        )

        complaints = [line for line in checked.stderr.splitlines() if "sluice" in line]
        assert complaints == []

    def test_are_confined(self, units):
        program = shutil.which("systemd-analyze")
        if program is None:
            pytest.skip("systemd is not installed")

        for unit in units:
            if unit.suffix == ".service":
                rated = subprocess.run(
                    [program, "security", "--offline=true", "--threshold=30", unit],  # exposure 3.0 of 10
                    capture_output=True, text=True, timeout=60, check=False,
                )  # fmt: skip
                assert rated.returncode == 0, rated.stdout.splitlines()[-1]

    def test_listen_at_the_documented_address(self):
        [place] = re.findall(
            r"^ListenStream=(.+)$", (OPERATIONS / "systemd" / "sluice-web.socket").read_text(), re.MULTILINE
        )

        assert f"`sluice-web.socket`, {place}" in GUIDE
        assert f"name `{place}` as the upstream" in GUIDE

    def test_of_services_have_no_privileges(self):
        for path in (OPERATIONS / "systemd").glob("*.service"):
            unit = ConfigParser(strict=False, interpolation=None)
            unit.optionxform = str
            unit.read(path)
            service = unit["Service"]
            assert service["User"] == "sluice"
            assert service["NoNewPrivileges"] == "true"
            assert service["ProtectSystem"] == "strict"
            assert service["Restart"] == "always"


class TestProxy:
    CONF = (OPERATIONS / "nginx.conf").read_text()

    def test_forwards_the_client_address(self):
        for header in ("X-Forwarded-For", "X-Forwarded-Proto", "Host"):
            assert f"proxy_set_header {header} " in self.CONF
        assert "proxy_pass http://sluice;" in self.CONF  # without a path, so that the target stays as signed
        assert self.CONF.count("{") == self.CONF.count("}")

    def test_hides_metrics(self):
        assert re.search(r"location = /metrics \{\s+return 404;", self.CONF)

    def test_returns_errors_in_the_format_of_the_service(self):
        texts = [document.replace("\\'", "'") for document in re.findall(r"'(\"title\".+)';", self.CONF)]
        refusals = [json.loads(f"{{{text}}}") for text in texts]
        codes = dict(re.findall(r"^    (default|[0-9]+) ([a-z_]+);$", self.CONF, re.MULTILINE))

        assert {str(each["status"]): each["code"] for each in refusals[1:]} | {
            "default": "invalid_request"
        } == codes
        for each in refusals:
            kind = ERROR_CODES[each["code"]]
            assert (kind.status, kind.title) == (each["status"], each["title"])
            assert each["detail"] in {kind.help, BadRequest.default_detail}

    def test_closes_connections_before_the_application_does(self):
        [kept] = re.findall(r"keepalive_timeout (\d+)s", self.CONF)
        application = re.search(
            r"^keepalive = (\d+)", (PROJECT / "config" / "runtime" / "gunicorn.py").read_text(), re.MULTILINE
        )

        assert int(kept) < int(application.group(1))
        assert settings.PROXIES_IN_FRONT == 0  # sandboxes have none; this is production's


def _words(command):
    return shlex.split(re.sub(r"/opt/sluice/current/(\.venv/bin/)?", "", command).replace("%", ""))


def _commands():
    """Return every command that the image, services and units run, split into words."""
    named = {
        name: one["command"]
        for name, one in COMPOSE["services"].items()
        if one.get("image") == "sluice" and "command" in one
    }
    for path in (OPERATIONS / "systemd").glob("*.service"):
        [named[path.name]] = re.findall(r"^ExecStart=(.+)$", path.read_text(), re.MULTILINE)
    [image] = re.findall(r"^CMD (\[.+\])$", DOCKERFILE, re.MULTILINE)
    return {name: _words(command) for name, command in named.items()} | {"image": json.loads(image)}


class TestNames:
    """Names in the files for operators exist in the project."""

    EXAMPLE = set(re.findall(r"^#? ?([A-Z_]+)=", (PROJECT / ".env.example").read_text(), re.MULTILINE))

    def test_of_settings_exist(self):
        ours = [one for one in COMPOSE["services"].values() if one.get("image") == "sluice"]
        named = {name for one in ours for name in one["environment"]}
        named |= set(re.findall(r"\b([A-Z][A-Z_]+)=", DOCKERFILE.partition("\nENV PATH=")[2]))
        named -= {"PYTHONUNBUFFERED", "PYTHONDONTWRITEBYTECODE"}

        assert {"ENVIRONMENT", "DATABASE_URL", "REDIS_URL", "WEB_BIND", "WORKER_METRICS_ADDRESS"} <= named
        assert named <= self.EXAMPLE

    def test_of_commands_exist(self, subtests):
        for words in _commands().values():
            with subtests.test(words=words):
                program, *rest = words
                if program == "python":
                    assert rest[0] == "manage.py"
                    assert rest[1] in get_commands()
                elif program == "gunicorn":
                    assert rest == ["-c", "config/runtime/gunicorn.py", "config.wsgi"]
                    assert (PROJECT / "config" / "runtime" / "gunicorn.py").exists()
                    assert (PROJECT / "config" / "wsgi.py").exists()
                else:
                    assert (program, rest[:2]) == ("celery", ["-A", "config"])
                    known = {name for option in celery.commands[rest[2]].params for name in option.opts}
                    assert {word for word in rest[3:] if word.startswith("-")} <= known

    def test_of_urls_respond(self):
        asked = re.findall(r"http://(?:127\.0\.0\.1|localhost):(\d+)(/\w+)", DOCKERFILE)

        assert asked == [("8000", "/readyz")]
        assert resolve("/readyz")
        assert "EXPOSE 8000" in DOCKERFILE
        assert COMPOSE["services"]["web"]["environment"]["WEB_BIND"] == "0.0.0.0:8000"
        assert "server web:8000;" in TestProxy.CONF
        worker = COMPOSE["services"]["worker"]
        address = worker["environment"]["WORKER_METRICS_ADDRESS"].rpartition(":")[2]
        assert f":{address}/metrics" in worker["healthcheck"]["test"][-1]

    def test_of_the_installer_have_one_version(self):
        [pinned] = re.findall(r"^UV_VERSION := (\S+)$", (PROJECT / "Makefile").read_text(), re.MULTILINE)

        assert f"uv=={pinned}\n" in DOCKERFILE
