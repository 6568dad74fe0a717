"""Audit locked packages for known vulnerabilities: `make audit`.

pip-audit skips packages that its index does not know and still reports success. This command reports them separately.

    make audit                          0: all checked, none vulnerable; 1: some vulnerable; 2: some could not be checked
    make audit ARGS=--unless-offline    the same, but 0 with a message if the index is unavailable
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from kit.files import bounded_json
from kit.text.plurals import counted

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


def main() -> None:
    """Audit a file of pinned requirements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("requirements", type=Path)
    parser.add_argument(
        "--unless-offline", action="store_true", help="pass with a message if the index is unavailable"
    )
    options = parser.parse_args()
    status, lines = verdict(*audited(options.requirements))
    print("\n".join(lines))  # noqa: T201  (command line output)
    sys.exit(CLEAN if status == UNKNOWN and options.unless_offline else status)


def audited(requirements: Path) -> tuple[Sequence[dict[str, Any]], str]:
    """Return pip-audit's result for each package, and its last error output if it has none."""
    options = ["--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off"]
    command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(requirements)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return bounded_json.loads(ran.stdout)["dependencies"], ""
    except ValueError:
        return [], (ran.stderr.strip().splitlines() or ["It ended without a word."])[-1]


def verdict(packages: Sequence[dict[str, Any]], trouble: str) -> tuple[int, list[str]]:
    """Return the exit status and what to print."""
    known = [
        f"{package['name']} {package['version']}: {found['id']}, mended in {' or '.join(found['fix_versions']) or '-'}"
        for package in packages
        for found in package.get("vulns", ())
    ]
    skipped = [package["skip_reason"] for package in packages if "skip_reason" in package]
    asked = len(packages) - len(skipped)
    if known:
        return VULNERABLE, [*known, f"VULNERABLE: {len(known)} known in {asked} packages asked about."]
    if not packages or skipped:
        why = trouble or skipped[0]
        return UNKNOWN, [
            f"NOT AUDITED: {counted(len(skipped), 'package') if skipped else 'all packages'} could not be asked about. {why}"
        ]
    return CLEAN, [f"No known vulnerability in {asked} packages."]


if __name__ == "__main__":
    main()
