"""The calls of Checkout.com's interface and what they answer."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qsl, urlencode, urlsplit

from connectors.checkout.simulator import disputes as dispute_desk
from connectors.checkout.simulator import money
from connectors.checkout.simulator.api import documents
from connectors.checkout.simulator.api.responses import Refused, Response
from connectors.checkout.simulator.api.validation import page_errors, payment_errors
from connectors.checkout.simulator.disputes import DisputeDesk
from connectors.checkout.simulator.money import Books
from connectors.checkout.simulator.pages import PayerPages
from connectors.checkout.simulator.payments import Processor
from connectors.checkout.simulator.state import Account, Dispute, Document, HostedPage, Payment

KINDS = {"captures": "Capture", "voids": "Void", "refunds": "Refund"}
MOST_PAYMENTS, MOST_DISPUTES, MOST_REPORTS = 100, 250, 100  # on a page of a list

# Method, path, name of the call. A call whose name begins with "page_" is a payer's; "download" needs a link, not a key.
CALLS = (
    ("POST", "/payments", "authorise"),
    ("GET", "/payments", "list_payments"),
    ("GET", "/payments/{id}", "get_payment"),
    ("GET", "/payments/{id}/actions", "get_actions"),
    ("POST", "/payments/{id}/captures", "captures"),
    ("POST", "/payments/{id}/voids", "voids"),
    ("POST", "/payments/{id}/refunds", "refunds"),
    ("POST", "/payments/{id}/reversals", "reversals"),
    ("POST", "/hosted-payments", "create_page"),
    ("GET", "/hosted-payments/{id}", "get_page"),
    ("GET", "/reports", "list_reports"),
    ("GET", "/reports/{id}", "get_report"),
    ("GET", "/reports/{id}/files/{id}", "get_report_file"),
    ("GET", "/disputes", "list_disputes"),
    ("GET", "/disputes/{id}", "get_dispute"),
    ("POST", "/disputes/{id}/accept", "accept_dispute"),
    ("PUT", "/disputes/{id}/evidence", "put_evidence"),
    ("GET", "/disputes/{id}/evidence", "get_evidence"),
    ("POST", "/disputes/{id}/evidence", "submit_evidence"),
    ("POST", "/disputes/{id}/evidence/arbitration", "submit_arbitration_evidence"),
    ("POST", "/files", "upload_file"),
    ("GET", "/download/{id}", "download"),
    ("GET", "/3ds/{id}", "page_challenge"),
    ("POST", "/3ds/{id}", "page_challenge"),
    ("GET", "/page/{id}", "page_hosted"),
    ("POST", "/page/{id}", "page_hosted"),
)
_PATTERNS = [(method, re.compile(re.sub(r"\{id\}", "([^/]+)", path)), name) for method, path, name in CALLS]
WITH_KEY = frozenset({"authorise", *KINDS, "reversals"})


@dataclass(frozen=True, slots=True)
class Call:
    """A call that was recognised by its method and path."""

    name: str
    method: str
    path: tuple[str, ...]
    ids: tuple[str, ...]
    query: dict[str, str]
    headers: dict[str, str] = field(default_factory=dict, repr=False)  # by their names in small letters
    body: bytes = field(default=b"", repr=False)  # may hold a card number

    @property
    def key(self) -> str:
        """Return the idempotency key, if the call takes one."""
        return self.headers.get("cko-idempotency-key", "") if self.name in WITH_KEY else ""

    def order(self) -> Document:
        """Parse the body.

        :raises Refused: it is not a JSON object
        """
        try:
            order = json.loads(self.body or b"{}")
        except ValueError:
            order = None
        if not isinstance(order, dict):
            raise Refused(400, "request_body_malformed")
        return order

    @property
    def is_page(self) -> bool:
        return self.name.startswith("page_")

    @property
    def is_public(self) -> bool:
        return self.is_page or self.name == "download"

    @property
    def can_fail(self) -> bool:
        """Return whether a planned fault can concern it. Pages are the payer's business."""
        return not self.is_page


def call_of(method: str, target: str, headers: dict[str, str] | None = None, body: bytes = b"") -> Call:
    """Return the call of a method and a target with its query.

    >>> call_of("GET", "/payments/pay_1/actions").name, call_of("GET", "/nothing").name
    ('get_actions', 'unknown')
    """
    parts = urlsplit(target)
    path, query = tuple(parts.path.strip("/").split("/")), dict(parse_qsl(parts.query))
    found = {name.lower(): value for name, value in (headers or {}).items()}
    for known, pattern, name in _PATTERNS:
        if known == method and (match := pattern.fullmatch(parts.path)):
            return Call(name, method, path, match.groups(), query, found, body)
    return Call("unknown", method, path, (), query, found, body)


class Calls:
    """Answers calls, one method each, named as in `CALLS`."""

    def __init__(
        self,
        account: Account,
        *,
        processor: Processor,
        desk: DisputeDesk,
        pages: PayerPages,
        books: Books,
    ) -> None:
        self._account, self._processor, self._desk = account, processor, desk
        self._pages, self._books = pages, books

    def answer(self, call: Call, *, hidden: float) -> Response:
        """Answer a call. A payment that it makes isn't found for some seconds.

        :raises Refused: with an error
        """
        if call.name == "unknown":
            raise Refused(404)
        if call.name == "authorise":
            return self._authorise(call.order(), hidden=hidden)
        response: Response = getattr(self, f"_{call.name}")(call)
        return response

    def _page_challenge(self, call: Call) -> Response:
        return self._pages.challenge(call.ids[0], _entered(call))

    def _page_hosted(self, call: Call) -> Response:
        return self._pages.hosted(call.ids[0], _entered(call))

    # Payments

    def _authorise(self, order: Document, *, hidden: float) -> Response:
        identity, variants = self._account.identity, self._account.variants
        if errors := payment_errors(order, identity=identity, variants=variants):
            raise Refused(422, *errors)
        if not identity.has_grant:
            raise Refused(int(variants.missing_grant), "card_details_not_permitted")  # the code is a guess
        source = order["source"]
        if variants.expired_card == "refused":
            now = self._account.clock.now()
            if (source["expiry_year"], source["expiry_month"]) < (now.year, now.month):
                raise Refused(422, "card_expired")
        payment = self._processor.authorise(order, hidden=hidden)
        return Response(*documents.answer(self._account, payment))

    def _payment(self, call: Call) -> Payment:
        payment = self._account.found(call.ids[0])
        if payment is None:
            raise Refused(404)
        return payment

    def _get_payment(self, call: Call) -> Response:
        by_session = call.ids[0].startswith("sid_")
        return Response(200, documents.details(self._account, self._payment(call), with_actions=by_session))

    def _get_actions(self, call: Call) -> Response:
        found = documents.listed(self._account, self._payment(call))
        if not found and self._account.variants.actions_of_pending == "404":
            raise Refused(404)
        return Response(200, [documents.action_document(action) for action in found])

    def _list_payments(self, call: Call) -> Response:
        reference = call.query.get("reference")
        if not reference:
            raise Refused(422, "reference_required")
        limit, skip = _page_of(call, usual=10, most=MOST_PAYMENTS)
        found = self._account.with_reference(reference)
        shown = [documents.details(self._account, payment) for payment in found[skip : skip + limit]]
        return Response(200, {"limit": limit, "skip": skip, "total_count": len(found), "data": shown})

    def _operate(self, call: Call) -> Response:
        payment = self._payment(call)
        if call.name == "reversals":
            action = self._processor.reverse(payment, call.order())
        else:
            action = self._processor.operate(payment, KINDS[call.name], call.order())
        return Response(202, documents.operation_answer(self._account, payment, action))

    _captures = _voids = _refunds = _reversals = _operate

    # Hosted pages

    def _create_page(self, call: Call) -> Response:
        order = call.order()
        if errors := page_errors(order, identity=self._account.identity):
            raise Refused(422, *errors)
        life = timedelta(seconds=self._account.delays.hosted_page)
        page = HostedPage(self._account.new_id("hpp"), order, self._account.clock.now() + life)
        self._account.pages[page.id] = page
        return Response(201, documents.page_answer(self._account, page))

    def _get_page(self, call: Call) -> Response:
        page = self._account.pages.get(call.ids[0])
        if page is None:
            raise Refused(404)
        return Response(200, documents.page_details(self._account, page))

    # Money

    def _list_reports(self, call: Call) -> Response:
        self._books.settle()
        after, before = _moment(call, "created_after"), _moment(call, "created_before")
        found = [
            one
            for one in self._books.reports.values()
            if (after is None or one.created_on >= after) and (before is None or one.created_on < before)
        ]
        return self._paged(call, [money.report_document(self._account, one) for one in found])

    def _paged(self, call: Call, found: Sequence[Document]) -> Response:
        """Return a page of a list that is continued with a token."""
        limit, _ = _page_of(call, usual=MOST_REPORTS, most=MOST_REPORTS)
        token = call.query.get("pagination_token", "")
        start = int(token.removeprefix("after-")) if token.startswith("after-") else 0
        shown, path = found[start : start + limit], "/".join(call.path)
        links = {"self": self._account.link(f"{path}?{urlencode(call.query)}")}
        if start + limit < len(found):
            query = call.query | {"pagination_token": f"after-{start + limit}"}
            links["next"] = self._account.link(f"{path}?{urlencode(query)}")
        return Response(200, {"count": len(shown), "limit": limit, "data": list(shown), "_links": links})

    def _get_report(self, call: Call) -> Response:
        return Response(200, money.report_document(self._account, self._report(call)))

    def _get_report_file(self, call: Call) -> Response:
        report = self._report(call)
        if report.file != call.ids[1]:
            raise Refused(404, "report_file_not_found")
        return Response(302, headers={"Location": self._account.link("download", report.file)["href"]})

    def _report(self, call: Call) -> money.Report:
        report = self._books.reports.get(call.ids[0])
        if report is None:
            raise Refused(404, "report_not_found")
        return report

    def _download(self, call: Call) -> Response:
        """Return a file. Its address needs no key, and stores of files refuse one: a guess."""
        if "authorization" in call.headers:
            raise Refused(400)
        report = next((one for one in self._books.reports.values() if one.file == call.ids[0]), None)
        if report is None:
            raise Refused(404)
        return Response(200, headers={"Content-Type": "text/csv"}, content=report.content.encode())

    # Disputes

    def _list_disputes(self, call: Call) -> Response:
        limit, skip = _page_of(call, usual=50, most=MOST_DISPUTES)
        after, before = _moment(call, "from"), _moment(call, "to")
        found = [
            one
            for one in reversed(self._account.disputes.values())
            if self._is_wanted(call, one)
            and (after is None or (one.last_update or one.received_on) >= after)
            and (before is None or (one.last_update or one.received_on) <= before)
        ]
        shown = [dispute_desk.dispute_summary(self._account, one) for one in found[skip : skip + limit]]
        return Response(200, {"limit": limit, "skip": skip, "total_count": len(found), "data": shown})

    def _is_wanted(self, call: Call, dispute: Dispute) -> bool:
        statuses = call.query.get("statuses", "").split(",")
        found = dispute_desk.dispute_summary(self._account, dispute)
        filters = {
            name: call.query[name]
            for name in ("id", "payment_id", "payment_reference", "payment_arn")
            if name in call.query
        }
        return filters.items() <= found.items() and (statuses == [""] or dispute.status in statuses)

    def _dispute(self, call: Call) -> Dispute:
        dispute = self._account.disputes.get(call.ids[0])
        if dispute is None:
            raise Refused(404)
        return dispute

    def _get_dispute(self, call: Call) -> Response:
        return Response(200, dispute_desk.dispute_details(self._account, self._dispute(call)))

    def _accept_dispute(self, call: Call) -> Response:
        self._desk.accept(self._dispute(call))
        return Response(204)

    def _put_evidence(self, call: Call) -> Response:
        self._desk.add_evidence(self._dispute(call), call.order())
        return Response(204)

    def _get_evidence(self, call: Call) -> Response:
        evidence = self._dispute(call).evidence
        if not evidence:
            raise Refused(404)
        return Response(200, dict(evidence))

    def _submit_evidence(self, call: Call) -> Response:
        self._desk.submit(self._dispute(call), is_arbitration=call.name == "submit_arbitration_evidence")
        return Response(204)

    _submit_arbitration_evidence = _submit_evidence

    def _upload_file(self, call: Call) -> Response:
        file = dispute_desk.upload(self._account, call.headers.get("content-type", ""), call.body)
        return Response(200, {"id": file.id, "_links": {"self": self._account.link("files", file.id)}})


def _entered(call: Call) -> dict[str, str] | None:
    """Return what a payer entered in a form, or None if he opened the page."""
    return dict(parse_qsl(call.body.decode())) if call.method == "POST" else None


def _page_of(call: Call, *, usual: int, most: int) -> tuple[int, int]:
    """Return the limit and the number of results to skip.

    :raises Refused: they are no numbers, or too large
    """
    limit, skip = call.query.get("limit", str(usual)), call.query.get("skip", "0")
    if not (limit.isdecimal() and skip.isdecimal() and 1 <= int(limit) <= most):
        raise Refused(422, "limit_invalid")
    return int(limit), int(skip)


def _moment(call: Call, name: str) -> datetime | None:
    """Return the moment in a query, in UTC unless it says otherwise.

    :raises Refused: it is none
    """
    if name not in call.query:
        return None
    try:
        moment = datetime.fromisoformat(call.query[name])
    except ValueError:
        raise Refused(422, f"{name}_invalid") from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
