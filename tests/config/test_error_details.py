"""Every text that the service can send as the `detail` of a problem is listed, so that the search finds it."""

import ast
import gc
import re
from collections import defaultdict
from functools import cache

from config.errors.error_codes import ERROR_CODES
from config.errors.error_details import DETAILS
from config.settings import BASE_DIR
from kit.api.errors import Problem
from tests.packages import PACKAGES

APPS = sorted(
    PACKAGES - {"config", "connectors", "dashboard", "developer_site", "operations"}
)  # the others answer merchants
# Decisions in the administration and the dashboard, whose forms show these errors.
ON_PAGES = (
    "disputes/services/debits.py",
    "disputes/services/reports/intake.py",
    "disputes/services/reports/unmatched.py",
    "payments/services/journals/",
    "payments/services/reconciliation/",
    "payments/services/staff/",
    "payments/services/reporting/fee_invoices.py",
    "payments/services/settlement/",
    "payments/services/transfers/unclaimed_decisions.py",
    "payments/models/settlement/batches.py",
)
GAP = "…"  # in place of a value


def subclasses(kind):
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


@cache
def nodes():
    """Return every node of the code that answers requests."""
    # A collection while Python makes the nodes may let another thread make some, of which this Python keeps one count.
    gc.disable()
    try:
        return _nodes()
    finally:
        gc.enable()


def _nodes():
    files = [file for app in APPS for file in sorted((BASE_DIR / app).rglob("*.py"))]
    return [
        node
        for file in files
        if not file.relative_to(BASE_DIR).as_posix().startswith(ON_PAGES)
        for node in ast.walk(ast.parse(file.read_text()))
    ]


def text_of(node):
    """Return a literal text, with a gap for each value in it. Empty if it is no literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else GAP for part in node.values)
    return ""


def raised():
    """Return the literal details of all problems in the code, by the problem's code."""
    codes = {each.__name__: str(each.default_code) for each in subclasses(Problem)}
    found = defaultdict(set)
    for node in nodes():
        if isinstance(node, ast.ClassDef) and node.name in codes:
            for line in node.body:
                if isinstance(line, ast.Assign) and line.targets[0].id == "default_detail":
                    found[codes[node.name]].add(text_of(line.value))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in codes:
            found[codes[node.func.id]] |= {text_of(each) for each in node.args[:1]}
    return {code: {each for each in texts if re.search(r"\w", each)} for code, texts in found.items()}


def test_lists_every_detail_in_the_code():
    missing = {code: texts - {*DETAILS.get(code, ())} for code, texts in raised().items()}

    assert {code: texts for code, texts in missing.items() if texts} == {}


def test_lists_no_detail_that_the_code_lacks():
    of_invalid_requests = ast.parse((BASE_DIR / "config" / "errors" / "problems.py").read_text())
    written = {text_of(node) for node in (*nodes(), *ast.walk(of_invalid_requests))}

    assert {detail for details in DETAILS.values() for detail in details if detail not in written} == set()


def test_lists_only_details_of_codes():
    assert DETAILS.keys() <= ERROR_CODES.keys()
