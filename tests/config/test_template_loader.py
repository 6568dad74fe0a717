"""Templates are loaded without indentation."""

import pytest
from django.template import Engine

PAGE = '<ul>\n  <li>\n\tOne</li>\n</ul>\n<pre class="code">{\n  "amount": 1\n}</pre>\n  <p>'


@pytest.fixture
def load(tmp_path):
    engine = Engine(dirs=[tmp_path], loaders=["config.template_loader.Unindented"])

    def loaded(name):
        (tmp_path / name).write_text(PAGE)
        return engine.get_template(name).source

    return loaded


def test_pages_have_no_indentation_outside_of_pre(load):
    assert (
        load("page.html") == '<ul>\n<li>\nOne</li>\n</ul>\n<pre class="code">{\n  "amount": 1\n}</pre>\n<p>'
    )


def test_mails_keep_theirs(load):
    assert load("mail.txt") == PAGE
