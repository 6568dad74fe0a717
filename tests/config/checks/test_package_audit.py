"""Dependencies are locked by hash, audited and listed, and the audit reports what it did not check."""

import sys
import tomllib
from pathlib import Path

import pytest

from config.checks import package_audit
from tests.journeys.service import PROJECT

GOOD = {"name": "django", "version": "5.2.19", "vulns": []}
BAD = {
    "name": "redis",
    "version": "5.0.0",
    "vulns": [{"id": "PYSEC-2026-1", "fix_versions": ["5.0.1", "6.0"], "aliases": [], "description": ""}],
}
UNASKED = {"name": "amqp", "skip_reason": "Dependency not found: amqp (5.4.2)"}


class TestVerdict:
    @pytest.mark.parametrize(
        ("packages", "trouble", "status", "last"),
        [
            ([GOOD, GOOD], "", package_audit.CLEAN, "No known vulnerability in 2 packages."),
            ([GOOD, BAD], "", package_audit.VULNERABLE, "VULNERABLE: 1 known in 2 packages asked about."),
            (
                [GOOD, BAD, UNASKED],
                "",
                package_audit.VULNERABLE,
                "VULNERABLE: 1 known in 2 packages asked about.",
            ),
            (
                [GOOD, UNASKED],
                "",
                package_audit.UNKNOWN,
                "NOT AUDITED: 1 package could not be asked about. Dependency not found: amqp (5.4.2)",
            ),
            (
                [],
                "ConnectionError",
                package_audit.UNKNOWN,
                "NOT AUDITED: all packages could not be asked about. ConnectionError",
            ),
        ],
        ids=["clean", "vulnerable", "vulnerable and unasked", "unasked", "no answer"],
    )
    def test_reports_packages_that_were_not_checked(self, packages, trouble, status, last):
        found, lines = package_audit.verdict(packages, trouble)

        assert (found, lines[-1]) == (status, last)

    def test_reports_known_vulnerabilities(self):
        _, lines = package_audit.verdict([BAD], "")

        assert lines[0] == "redis 5.0.0: PYSEC-2026-1, mended in 5.0.1 or 6.0"

    @pytest.mark.parametrize(("options", "status"), [([], 2), (["--unless-offline"], 0)])
    def test_fails_without_the_index_unless_allowed(self, monkeypatch, capsys, options, status):
        monkeypatch.setattr(package_audit, "audited", lambda _: ([UNASKED], ""))
        monkeypatch.setattr(sys, "argv", ["audit", "requirements.txt", *options])

        with pytest.raises(SystemExit) as ended:
            package_audit.main()

        assert ended.value.code == status
        assert "NOT AUDITED" in capsys.readouterr().out


class TestLock:
    LOCK = tomllib.loads(Path(PROJECT, "uv.lock").read_text())

    def test_has_a_hash_of_every_file(self):
        packages = [one for one in self.LOCK["package"] if "registry" in one["source"]]
        files = [
            file for one in packages for file in (*one.get("wheels", ()), *filter(None, [one.get("sdist")]))
        ]

        assert len(files) > len(packages) > 100
        assert all(file["hash"].startswith("sha256:") for file in files)

    def test_is_installed_everywhere(self):
        for name in ("Makefile", "Dockerfile"):
            syncs = [
                line for line in Path(PROJECT, name).read_text().splitlines() if "uv sync" in line.lower()
            ]
            syncs += [line for line in Path(PROJECT, name).read_text().splitlines() if "$(UV) sync" in line]

            assert syncs
            assert all("--locked" in line for line in syncs), name
