"""The search reads guides by their sections, as plain text."""

from developer_site.guides import guide_sections
from developer_site.guides.guide_sections import Section, sections_of
from developer_site.guides.guides import GUIDES, Guide


def test_sections_have_the_text_below_their_heading(tmp_path, monkeypatch):
    text = "# Title\n\nFirst `code`\nand more.\n\n## A part\n\n- one\n- two\n\n```\nx = 1\n```\n\n### Inner\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
    (tmp_path / "guide.md").write_text(text)
    monkeypatch.setattr("developer_site.guides.guides.DOCS", tmp_path)

    assert list(sections_of(Guide("guide", "Title", "", "guide.md"))) == [
        Section("Title", "", "First code and more."),
        Section("A part", "a-part", "one two x = 1"),
        Section("Inner", "inner", "a b 1 2"),
    ]


def test_every_guide_has_sections():
    for guide in GUIDES.values():
        assert all(section.title for section in guide_sections.sections_of(guide))
