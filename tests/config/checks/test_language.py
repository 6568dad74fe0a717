"""`make lint` rejects a short list of phrases."""

import pytest
from django.core.management import CommandError, call_command

from config.checks import language


def test_project_has_no_complaints():
    assert language.complaints() == []


@pytest.mark.parametrize("line", ["Somebody waits.", "# sent again by hand", "It lets go of the row."])
def test_reports_the_line_and_the_alternative(tmp_path, line):
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "guide.md").write_text(f"# Guide\n\n{line}\n")

    (complaint,) = language.complaints(tmp_path)

    assert complaint.startswith("docs/guide.md:3: ")


def test_ignores_quotations(tmp_path):
    (tmp_path / "README.md").write_text("The old text said “nobody”.\n")

    assert language.complaints(tmp_path) == []


def test_ignores_installed_packages(tmp_path):
    (tmp_path / "tests" / "node_modules").mkdir(parents=True)
    (tmp_path / "tests" / "node_modules" / "README.md").write_text("Nobody waits.\n")

    assert language.complaints(tmp_path) == []


@pytest.mark.django_db
def test_lint_fails_for_a_complaint(monkeypatch):
    monkeypatch.setattr(language, "complaints", lambda: ["docs/guide.md:1: 'nobody'"])

    with pytest.raises(CommandError, match=r"docs/guide\.md:1"):
        call_command("check_project")
