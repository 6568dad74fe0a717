"""The guides: Markdown files under `docs/`, rendered as pages of the service.

Guides are also read in the repository. So links stay relative to the file and are rewritten here; a link to
a file that has no page becomes plain text. Consecutive third-level headings that name languages become tabs, and so does
a block of HTTP that is a request to the API: it is also shown in other languages.
"""

import posixpath
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.template.loader import render_to_string
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.anchors import anchors_plugin

from config.errors.error_codes import ERROR_CODES
from developer_site.guides.request_samples import samples as request_samples

DOCS = settings.BASE_DIR / "docs"
SAMPLES = DOCS / "samples"
DEFAULT_ADDRESS = "http://127.0.0.1:8000"  # of `make run`
LONG_PATH = 3  # segments, from which on a path may break


@dataclass(frozen=True, slots=True)
class Guide:
    """A page of the documentation that is written as a file. Files are relative to `docs/`.

    The text of the file `more` follows as its last section.
    """

    slug: str
    title: str
    summary: str
    file: str
    more: str = ""

    @property
    def exists(self) -> bool:
        """Whether the installation has the file. It may leave out the folder `clients/`."""
        return (DOCS / self.file).is_file()

    def read(self) -> str:
        """Return the Markdown text, with the address of this service in place of a sandbox's default one."""
        text = (DOCS / self.file).read_text(encoding="utf-8")
        whole = f"{text}\n#{(DOCS / self.more).read_text(encoding='utf-8')}" if self.more else text
        return whole.replace(DEFAULT_ADDRESS, settings.PUBLIC_URL)


CLIENT_ERRORS = "client-errors.md"
GUIDES: dict[str, Guide] = {
    guide.slug: guide
    for guide in (
        Guide("quickstart", "Quickstart", "Make your first payment in ten minutes.", "quickstart.md"),
        Guide("hosted-checkout", "Hosted checkout", "One order, paid on a page of the service: no card touches your server.", "hosted-checkout.md"),
        Guide("signing", "Signing requests", "The string to sign, the checks, and samples in six languages.", "signing.md"),
        Guide("card-payments", "Card payments", "3-D Secure, capture, void and refunds.", "card-payments.md"),
        Guide("disputes", "Answering a dispute", "What a dispute is, and how to win it.", "disputes.md"),
        Guide("card-checks", "Card checks", "Check whether a card is valid. No money moves.", "card-checks.md"),
        Guide("payouts", "Payouts", "Money to a bank account.", "payouts.md"),
        Guide("payout-batches", "Payout batches", "Many payouts as one request.", "payout-batches.md"),
        Guide("virtual-accounts", "Virtual accounts", "Account numbers that payers transfer to.", "virtual-accounts.md"),
        Guide("payment-links", "Payment links", "Pages on which your payers pay, without any code.", "payment-links.md"),
        Guide("settlement", "Settlement", "Fees, batches and reconciliation.", "settlement.md"),
        Guide("cash", "Cash", "Our bank accounts: statements, matching and breaks.", "cash.md"),
        Guide("webhooks", "Webhooks", "Events, signatures and retries.", "webhooks.md"),
        Guide("limits", "Limits", "Sizes, rates, ranges and lifetimes.", "limits.md"),
        Guide("operations", "Operations", "Deploy, scale, back up, rotate keys, and respond to alerts.", "operations.md"),
        Guide("going-live", "Going live", "From nothing to the first real naira, in order.", "going-live.md"),
        Guide("scaling", "Scaling", "What limits a deployment, and the step beyond each limit.", "scaling.md"),
        Guide("security", "Security", "Threat model, stored card data, PCI DSS scope, and how to report a vulnerability.", "security.md"),
        Guide("addresses", "URLs and access", "The access rules, reauthentication and limits of every URL.", "addresses.md"),
        Guide("rails", "Rails", "Connect an acquirer and a bank.", "rails.md"),
        Guide("checkout-com", "Checkout.com", "Take cards with an account at Checkout.com.", "connectors/checkout.md"),
        Guide("paystack", "Paystack", "Take cards and transfers, and pay out, with an account at Paystack.", "connectors/paystack.md"),
        Guide("bank-transfers", "Bank notifications", "Notifications from the bank that hosts virtual accounts.", "bank-transfers.md"),
        Guide("python-client", "Python client", "The library and command-line tool for Python.", "../clients/python/README.md", CLIENT_ERRORS),
        Guide("node-client", "Node client", "The library for Node.js and TypeScript.", "../clients/node/README.md", CLIENT_ERRORS),
        Guide("changelog", "Changelog", "What changed in each release.", "../CHANGELOG.md"),
    )
    if guide.exists
}  # fmt: skip


SECTIONS_IN_SIGHT = 16


def breakable(text: str) -> SafeString:
    """Return a text as HTML, with line break opportunities in long names.

    >>> print(breakable("entries_sum_to_zero"))
    entries_<wbr>sum_<wbr>to_<wbr>zero
    """
    return _joined(text.split("_"), by=mark_safe("_<wbr>"))


def _breakable_code(text: str) -> SafeString:
    """Return code as HTML, with line break opportunities in long paths and names of permissions.

    >>> print(_breakable_code("/api/payments"), _breakable_code("/docs/errors/{code}"))
    /api/payments /docs/<wbr>errors/<wbr>{code}
    >>> print(_breakable_code("payments.add_tariff"))
    payments.<wbr>add_<wbr>tariff
    """
    if text.startswith("/") and text.count("/") >= LONG_PATH:
        return _joined(re.split("(?<=.)/(?=.)", text), by=mark_safe("/<wbr>"))
    if " --" in f" {text}":
        return _joined(map(_unbroken_option, text.split(" ")), by=mark_safe(" "))
    if re.fullmatch(r"[a-z_]+\.[a-z]+_[a-z_]+", text):
        return _joined(re.split("(?<=[._])", text), by=mark_safe("<wbr>"))
    return escape(text)


def _unbroken_option(word: str) -> str:
    """Return a word of a command as HTML. A line may end at any hyphen, and an option would then look broken."""
    return format_html('<span class="option">{}</span>', word) if word.startswith("--") else word


def _joined(parts: Iterable[str], *, by: SafeString | None = None) -> SafeString:
    """Return parts as HTML, escaped unless they are HTML already."""
    return format_html_join(by or "", "{}", ((part,) for part in parts))


@dataclass(frozen=True, slots=True)
class Heading:
    anchor: str
    text: str

    @property
    def shown(self) -> SafeString:
        """The text, which a line may end in after each underscore."""
        return breakable(self.text)


@dataclass(frozen=True, slots=True)
class Page:
    """A guide as it is shown: its title, the headings of its sections, and the rest as HTML."""

    title: str
    sections: tuple[Heading, ...]
    html: SafeString

    @property
    def is_long(self) -> bool:
        """Whether the list of sections is too long to show it open."""
        return len(self.sections) > SECTIONS_IN_SIGHT


LANGUAGES = frozenset(
    {
        "Python", "Python with requests", "Python with httpx", "Node", "TypeScript with fetch", "PHP", "Go", "Java",
        "bash", "Command line", "curl",
    }
)  # fmt: skip
# Pages that are no guides: where a guide says their address as code, it becomes a link.
PLACES = frozenset(
    {"/api/docs", "/api/openapi.json", "/docs/events", "/docs/test-data", "/docs/errors/", "/dashboard/"}
)

# Headings below the title get anchors in GitHub's form.
_PARSER = (
    MarkdownIt("commonmark", {"html": False}).enable("table").use(anchors_plugin, min_level=2, max_level=6)
)

_PAGE_OF = {guide.file: guide.slug for guide in GUIDES.values()}


@lru_cache(maxsize=len(GUIDES))
def page_of(guide: Guide) -> Page:
    """Return a guide's page. Its files are read once per process."""
    return page(guide.read(), file=guide.file)


def page(markdown: str, *, file: str) -> Page:
    """Render the Markdown text of a file.

    >>> print(page("See [it](signing.md#samples).", file="limits.md").html)
    <p>See <a href="/docs/signing#samples">it</a>.</p>
    <BLANKLINE>
    """
    title, tokens = _without_title(_PARSER.parse(markdown))
    sections = tuple(
        Heading(str(token.attrs["id"]), plain_text(tokens[place + 1]))
        for place, token in enumerate(tokens)
        if token.type == "heading_open" and token.tag == "h2"
    )
    renderer = _Renderer(folder=posixpath.dirname(file))
    return Page(title, sections, _joined(_parts(tokens, renderer)))


def tokens_of(guide: Guide) -> tuple[str, list[Token]]:
    """Return the title of a guide, and the tokens of the rest."""
    return tokens_in(guide.read())


def tokens_in(markdown: str) -> tuple[str, list[Token]]:
    """Return the title of a text, and the tokens of the rest."""
    return _without_title(_PARSER.parse(markdown))


@lru_cache(maxsize=2048)
def inline(markdown: str) -> SafeString:
    """Render a text without blocks.

    >>> print(inline("Send `reference` < 100."))
    Send <code>reference</code> &lt; 100.
    """
    return _Renderer(folder="").show(_PARSER.parseInline(markdown))


def _without_title(tokens: list[Token]) -> tuple[str, list[Token]]:
    if tokens and tokens[0].type == "heading_open" and tokens[0].tag == "h1":
        return plain_text(tokens[1]), tokens[3:]
    return "", tokens


def plain_text(inline: Token) -> str:
    return "".join(child.content for child in inline.children or [])


# Tabs ------------------------------------------------------------------------------------------------


def _parts(tokens: list[Token], renderer: "_Renderer") -> list[SafeString]:
    """Render tokens, with consecutive sections that are named after languages as tabs."""
    parts: list[SafeString] = []
    tabs: list[tuple[str, str, list[Token]]] = []  # anchor, language, what stands there
    rest: list[Token] = []
    for place, token in enumerate(tokens):
        if token.type == "heading_open":
            language = plain_text(tokens[place + 1])
            if token.tag == "h3" and language in LANGUAGES:
                parts.append(renderer.show(rest))
                rest = []
                tabs.append((str(token.attrs["id"]), language, []))
            elif tabs:
                parts.append(_tabs(tabs, renderer))
                tabs = []
        (tabs[-1][2] if tabs else rest).append(token)
    return [*parts, renderer.show(rest), _tabs(tabs, renderer)]


def _tabs(tabs: Sequence[tuple[str, str, list[Token]]], renderer: "_Renderer") -> SafeString:
    return pick([(anchor, language, renderer.show(tokens[3:])) for anchor, language, tokens in tabs])


def pick(parts: Sequence[tuple[str, str, SafeString]]) -> SafeString:
    """Render panels, each with its anchor and language. Radio buttons switch them, without a script."""
    if not parts:
        return mark_safe("")
    shown = [
        format_html(
            '<input type="radio" name="{}" id="{}"{}><label class="pick__tab" for="{}">{}</label>'
            '<div class="pick__part">{}</div>',
            f"{parts[0][0]}-language",
            anchor,
            mark_safe(" checked") if place == 0 else "",
            anchor,
            language,
            html,
        )
        for place, (anchor, language, html) in enumerate(parts)
    ]
    return format_html(
        '<fieldset class="pick"><legend class="unseen">Language</legend>{}</fieldset>',
        _joined(shown),
    )


# HTML ------------------------------------------------------------------------------------------------


class _Renderer(RendererHTML):
    """The library's renderer, with our links, headings, code and tables."""

    def __init__(self, *, folder: str) -> None:
        super().__init__()
        self._folder = folder
        self._headings: list[str] = []  # of the table that is being rendered
        self._column = 0
        self._unlinked = 0
        self._requests = 0

    def show(self, tokens: Sequence[Token]) -> SafeString:
        html = self.render(tokens, _PARSER.options, {})
        return mark_safe(html)  # noqa: S308  (the methods below escape what they insert)

    def heading_close(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        opened = tokens[idx - 2]
        anchor = escape(opened.attrs["id"])
        name = escape(plain_text(tokens[idx - 1]))
        return (
            f' <a class="guide__anchor" href="#{anchor}" aria-label="Link to {name}">#</a></{opened.tag}>\n'
        )

    def fence(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        text, language = tokens[idx].content, tokens[idx].info.strip()
        requests = request_samples(text) if language == "http" else []
        if not requests:
            return self._code(text)
        self._requests += 1
        return pick(
            [
                (f"request-{self._requests}-{sample.label.lower()}", sample.label, self._code(sample.code))
                for sample in requests
            ]
        )

    def _code(self, text: str) -> SafeString:
        button = render_to_string("components/copy.html", {"text": "", "what": "this sample"})
        return format_html(
            '<div class="code"><pre tabindex="0"><code>{}</code></pre>{}</div>\n', text, button
        )

    def code_inline(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        text = tokens[idx].content
        code = f"<code>{_breakable_code(text)}</code>"
        address = f"/docs/errors/{text}" if text in ERROR_CODES else text if text in PLACES else ""
        return f'<a href="{escape(address)}">{code}</a>' if address else code

    def link_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        address = self._address(str(tokens[idx].attrs["href"]))
        self._unlinked = 0 if address else 1
        return f'<a href="{escape(address)}">' if address else ""

    def link_close(self, *_: Any) -> str:
        was_unlinked, self._unlinked = self._unlinked, 0
        return "" if was_unlinked else "</a>"

    def table_open(self, tokens: Sequence[Token], idx: int, *_: Any) -> str:
        end = next(place for place in range(idx, len(tokens)) if tokens[place].type == "thead_close")
        self._headings = [plain_text(token) for token in tokens[idx:end] if token.type == "inline"]
        return '<table class="data-table">\n'

    def tr_open(self, *_: Any) -> str:
        self._column = 0
        return "<tr>\n"

    def th_open(self, *_: Any) -> str:
        return '<th scope="col">'

    def td_open(self, *_: Any) -> str:
        column, self._column = self._column, self._column + 1
        if column == 0:
            return '<th scope="row">'
        # On a phone a row is a block, and each cell says what it is.
        return f'<td data-label="{escape(self._headings[column])}">'

    def td_close(self, *_: Any) -> str:
        return "</th>\n" if self._column == 1 else "</td>\n"

    def _address(self, link: str) -> str:
        """Return the URL of a link in the file, or an empty string if it has no page."""
        parts = urlsplit(link)
        if parts.scheme or not parts.path or parts.path.startswith("/"):
            return link
        target = posixpath.normpath(posixpath.join(self._folder, parts.path))
        fragment = f"#{parts.fragment}" if parts.fragment else ""
        if target in _PAGE_OF:
            return f"/docs/{_PAGE_OF[target]}{fragment}"
        return f"/docs/{target}" if target.startswith("samples/") else ""


@lru_cache(maxsize=1)
def samples() -> dict[str, Path]:
    """Return the samples by their path below `docs/samples`. Only these files are served."""
    return {str(path.relative_to(SAMPLES)): path for path in sorted(SAMPLES.glob("*/*")) if path.is_file()}
