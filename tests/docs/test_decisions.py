"""The decision records: numbered without gaps, listed in their index, and every reference to one exists."""

import re
from pathlib import Path

from config.settings import BASE_DIR
from tests.packages import PACKAGES

DECISIONS = BASE_DIR / "docs" / "decisions"
RECORDS = sorted(DECISIONS.glob("0*.md"))
LINK = re.compile(r"\[(?:[Dd]ecision )?(\d{4})\]\(([^)]*\.md)\)")
MENTION = re.compile(r"\b[Dd]ecisions? (\d{4})\b")
REFERRING = ("*.py", "*.md", "*.html")


def referring_files():
    for top in ("benchmarks", "docs", "tests", *PACKAGES):
        for pattern in REFERRING:
            yield from (BASE_DIR / top).rglob(pattern)


def test_are_numbered_without_gaps():
    assert [record.name[:4] for record in RECORDS] == [f"{n:04d}" for n in range(1, len(RECORDS) + 1)]


def test_are_listed_in_order_with_their_titles():
    titles = [
        (f"{record.name[:4]}", record.name, record.read_text().splitlines()[0][7:]) for record in RECORDS
    ]

    listed = re.findall(r"^- \[(\d{4})\]\((.*)\) (.*)$", (DECISIONS / "README.md").read_text(), re.MULTILINE)

    assert listed == titles


def test_have_the_same_sections():
    for record in RECORDS:
        sections = re.findall(r"^## (.*)$", record.read_text(), re.MULTILINE)
        assert sections == ["Context", "Decision", "Consequences", "Alternatives considered"], record.name


def test_are_named_by_their_numbers_elsewhere():
    numbers = {record.name[:4] for record in RECORDS}
    for file in referring_files():
        text = file.read_text()
        assert set(MENTION.findall(text)) <= numbers, file
        for number, target in LINK.findall(text):
            assert Path(target).name.startswith(number), (file, target)
            assert (file.parent / target).is_file(), (file, target)
