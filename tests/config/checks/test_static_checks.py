"""Planted template errors are found by `make lint`, and planted calls are refused by ruff."""

import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from config.checks import migrations, templates
from config.management.commands import check_project

PLANTED = {
    "{{ name|safe }}": "output without escaping",
    "{{ name | safe }}": "output without escaping",
    "{% autoescape off %}{{ name }}{% endautoescape %}": "output without escaping",
    "<script>go()</script>": "inline script",
    '<p style="color: red">': "inline script",
    "<style>p {}</style>": "inline script",
    '<button onclick="go()">': "inline script",
    '<button hx-on:click="go()">': "inline script",
    '<a href="javascript:go()">': "inline script",
    "<a href={{ address }}>": "without quotation marks",
    '<input value="1" class={% if wrong %}wrong{% endif %}>': "without quotation marks",
    '<a target="_blank" href="/">': "new window",
    '<form method="post"><button>Go</button></form>': "csrf_token",
    '<form class="a"\n  method=POST><button>Go</button></form>': "csrf_token",
    '<form method="post" action="https://evil.example">{% csrf_token %}</form>': "another host",
}
HARMLESS = [
    '{{ name }}<script src="/a.js" defer></script><p class="{{ tone }}" data-on="1">',
    '<form method="post">{% csrf_token %}</form><form method="get"></form>',
    '<a target="_blank" rel="noopener" href="/">',
    '<a rel="noopener" target="_blank" href="/">',
    "{# {{ name|safe }} #}<!-- <style> -->{% comment %}<script>{% endcomment %}",
    "{% if one %}{% endif %}<input {% if on %}checked{% endif %}>",
]


def test_planted_fault_is_found_with_its_line(subtests, tmp_path):
    for text, fault in PLANTED.items():
        with subtests.test(text=text, fault=fault):
            (tmp_path / "page.html").write_text("<p>\n" + text)

            (complaint,) = templates.complaints(tmp_path)

            assert complaint.startswith("page.html:2: ")
            assert fault in complaint


@pytest.mark.parametrize("text", HARMLESS)
def test_harmless_template_is_accepted(tmp_path, text):
    (tmp_path / "page.html").write_text(text)

    assert templates.complaints(tmp_path) == []


def test_templates_have_no_complaints():
    assert templates.complaints() == []


def test_exceptions_are_used():
    for name in templates.WITHOUT_TOKEN:
        text = (templates.settings.BASE_DIR / "templates" / name).read_text()
        assert "csrf_token" not in text


def test_lint_fails_for_a_fault(monkeypatch):
    monkeypatch.setattr(check_project, "call_command", lambda *_args, **_options: None)
    monkeypatch.setattr(migrations, "complaints", list)
    monkeypatch.setattr(templates, "complaints", lambda: ["page.html:1: output without escaping"])

    with pytest.raises(CommandError, match=r"page\.html:1"):
        call_command("check_project")


@pytest.mark.parametrize(
    "fault",
    [
        "import json\njson.loads(answer)",
        "from json import loads\nloads(answer)",
        "import json\njson.JSONDecoder()",
        "import json\njson.load(file)",
        "from django.views.decorators.csrf import csrf_exempt",
    ],
)
def test_planted_call_is_rejected_by_ruff(fault):
    command = ["ruff", "check", "--select", "TID251", "--stdin-filename", "payments/planted.py", "-"]

    done = subprocess.run(
        [Path(sys.executable).with_name(command[0]), *command[1:]],
        input=fault, capture_output=True, text=True, check=False, cwd=templates.settings.BASE_DIR,
    )  # fmt: skip

    assert done.returncode == 1
    assert "TID251" in done.stdout
