"""The guide for developers names files that exist."""

import re
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
ROWS = re.findall(
    r"^\| (.+\?) \| `(.+)` \|$", (PROJECT / "docs" / "architecture.md").read_text(), re.MULTILINE
)


class TestWhereIs:
    def test_table_has_at_least_forty_questions(self):
        assert len(dict(ROWS)) == len(ROWS) >= 40

    @pytest.mark.parametrize(("question", "path"), ROWS)
    def test_file_exists(self, question, path):
        assert Path(PROJECT, path).is_file(), question
