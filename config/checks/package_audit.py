"""Known vulnerabilities of what is locked, and which packages nobody could be asked about: `make audit`.

pip-audit counts a package that its index does not know among the skipped, and still says that it found nothing.
Here that is a verdict of its own.

    make audit                          0 asked about all, none known; 1 some are known; 2 not all could be asked about
    make audit ARGS=--unless-offline    the same, but 0 where the index does not answer, which is said
"""

import argparse
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

CLEAN, VULNERABLE, UNKNOWN = 0, 1, 2


def main() -> None:
    """Audit a file of pinned requirements."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("requirements", type=Path)
    parser.add_argument(
        "--unless-offline", action="store_true", help="pass where the index does not answer, and say so"
    )
    options = parser.parse_args()
    status, lines = verdict(*audited(options.requirements))
    print("\n".join(lines))  # noqa: T201  (its one way to speak)
    sys.exit(CLEAN if status == UNKNOWN and options.unless_offline else status)


def audited(requirements: Path) -> tuple[Sequence[dict[str, Any]], str]:
    """Return what pip-audit says of each package, and its last words where it says nothing."""
    options = ["--require-hashes", "--disable-pip", "--format=json", "--progress-spinner=off"]
    command = [sys.executable, "-m", "pip_audit", *options, "--requirement", str(requirements)]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    try:
        return json.loads(ran.stdout)["dependencies"], ""  # noqa: TID251  (our own tool's)
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
        return UNKNOWN, [f"NOT AUDITED: {len(skipped) or 'all'} packages could not be asked about. {why}"]
    return CLEAN, [f"No known vulnerability in {asked} packages."]


if __name__ == "__main__":
    main()
