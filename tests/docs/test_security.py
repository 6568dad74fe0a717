"""Every threat in the threat model has a test that exists, or is marked as not mitigated."""

import ast
import re
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
PAGE = (PROJECT / "docs" / "security.md").read_text()
MODEL = PAGE.partition("## Threat model")[2].partition("\n## ")[0]
ENTRY_POINTS = [
    "Merchant API", "Bank notifications", "Webhooks of providers", "Payer's pages", "Dashboard", "Administration", "Commands",
    "Webhooks out", "Rails out", "Database, Redis and broker", "Logs and support bundle", "Supply chain",
]  # fmt: skip
NAMED = sorted(set(re.findall(r"`(tests/[\w/]+\.py::[\w:]+)`", PAGE)))


def threats():
    rows = re.findall(r"^\| (.+?) \| (.+?) \| (.+?) \| (.*?) ?\|$", MODEL, re.MULTILINE)
    return [row for row in rows if row[0] != "Threat"]


def has_test(name):
    """Return whether a module with this class and function exists."""
    path, *inner = name.split("::")
    body = ast.parse((PROJECT / path).read_text()).body
    for part in inner:
        found = [
            node for node in body if isinstance(node, ast.ClassDef | ast.FunctionDef) and node.name == part
        ]
        if not found:
            return False
        body = found[0].body
    return bool(inner) and inner[-1].startswith("test_")


class TestThreatModel:
    def test_names_tests_that_exist(self, subtests):
        for name in NAMED:
            with subtests.test(name=name):
                assert has_test(name)

    def test_covers_every_entry_point(self):
        assert re.findall(r"^### (.+)$", MODEL, re.MULTILINE) == ENTRY_POINTS

    def test_has_a_test_or_an_accepted_risk_for_every_threat(self):
        assert len(threats()) > 40
        for threat, stride, mitigation, test in threats():
            assert re.fullmatch(r"[STRIDE](, [STRIDE])*", stride), threat
            assert re.fullmatch(r"`tests/[^`]+`", test) or "**Not mitigated**" in mitigation, threat

    def test_has_threats_of_every_kind(self):
        assert {kind for _, stride, *_ in threats() for kind in stride.split(", ")} == set("STRIDE")
