"""The architecture guide names existing files and the enforced layers."""

import re
from configparser import ConfigParser
from pathlib import Path

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "architecture.md").read_text()
ROWS = re.findall(r"^\| (.+\?) \| `(.+)` \|$", PAGE, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`([\w.]+/[\w./]*)`", PAGE)))


class TestWhereIs:
    def test_table_has_at_least_forty_questions(self):
        assert len(dict(ROWS)) == len(ROWS) >= 40

    def test_answer_is_a_file(self, subtests):
        for question, path in ROWS:
            with subtests.test(question=question, path=path):
                assert Path(PROJECT, path).is_file(), question


def test_named_path_exists(subtests):
    for path in NAMED:
        with subtests.test(path=path):
            assert Path(PROJECT, path).exists()


def test_picture_shows_the_enforced_layers():
    contracts = ConfigParser()
    contracts.read(PROJECT / ".importlinter")
    layers = contracts["importlinter:contract:apps"]["layers"].split("\n")
    picture = PAGE.split("```text\n")[1].split("```")[0]
    drawn = re.findall(r"^(\w+(?: \| \w+)*)(?:  |$)", picture, re.MULTILINE)

    assert drawn == [layer for layer in layers if layer]
