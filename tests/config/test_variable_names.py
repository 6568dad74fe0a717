import pytest
from django.core import checks

from config.environment import variable_names


@pytest.fixture
def misspelt(monkeypatch, tmp_path):
    """Return a function that writes `.env`, sets variables and returns what is reported."""
    for name in variable_names.known():
        monkeypatch.delenv(name, raising=False)

    def report(text="", **environment):
        file = tmp_path / ".env"
        file.write_text(text)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        return variable_names.misspelt(file=file)

    return report


class TestFile:
    def test_reports_a_name_that_is_none_of_ours_with_the_nearest(self, misspelt):
        assert misspelt("MAIL_FORM=a@shop.example\nexport PUBLIC_ULR = x\n") == [
            ".env: MAIL_FORM is none of Sluice's variables; did you mean MAIL_FROM?",
            ".env: PUBLIC_ULR is none of Sluice's variables; did you mean PUBLIC_URL?",
        ]

    def test_reports_a_name_that_is_like_none_of_ours(self, misspelt):
        assert misspelt("COMPOSE_PROJECT=shop\n") == [".env: COMPOSE_PROJECT is none of Sluice's variables."]

    def test_is_silent_about_ours_comments_and_blank_lines(self, misspelt):
        assert misspelt("# A=1\n\nMAIL_FROM=a@shop.example\n") == []

    def test_never_repeats_a_value(self, misspelt):
        assert "canary" not in " ".join(misspelt("SECRET_KEI=canary\n", FINGERPRINT_KEI="canary"))


class TestEnvironment:
    def test_reports_a_similar_name_if_ours_is_not_set(self, misspelt):
        assert misspelt(MAIL_FORM="a@shop.example") == [
            "MAIL_FORM is none of Sluice's variables; did you mean MAIL_FROM?"
        ]

    def test_is_silent_if_ours_is_set_or_nothing_is_similar(self, misspelt):
        assert misspelt(MAIL_FORM="a", MAIL_FROM="b", EDITOR="vi", LANGUAGE="en") == []


def test_is_silent_in_an_installation_without_the_example(monkeypatch, tmp_path, misspelt):
    monkeypatch.setattr(variable_names, "PROJECT", tmp_path)
    variable_names.known.cache_clear()
    try:
        assert misspelt("MAIL_FORM=a@shop.example\n") == []
    finally:
        variable_names.known.cache_clear()


def test_is_shown_by_doctor_as_a_check_that_fails_nothing(monkeypatch):
    monkeypatch.setenv("MAIL_FORM", "a@shop.example")
    monkeypatch.delenv("MAIL_FROM", raising=False)

    found = [message for message in checks.run_checks() if message.id == "sluice.variables"]
    assert [(message.level, "MAIL_FROM" in message.msg) for message in found] == [(checks.INFO, True)]
