"""The payment links API. `request.user` is the business that signed the request."""

from typing import Any, cast

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.amount_warnings import with_warnings
from kit.api.filters import narrowed
from kit.api.operations import created, ok, operation, page
from kit.api.pagination import page_of
from kit.api.replays import created_or_replayed
from kit.db import clock
from merchants.api.api_requests import business_of, read_body
from merchants.people.request_actors import key_acting
from payments.api import link_filters
from payments.api.link_serializers import LinkChangeSerializer, LinkSerializer
from payments.api.serializers import VoidSerializer
from payments.models import Checkout, PaymentLink
from payments.representation import links as answers
from payments.services.checkouts import checkouts
from payments.services.links import links


class PaymentLinksView(APIView):
    @operation(
        "createPaymentLink",
        created(answers.PAYMENT_LINK, "Created.", "Location"),
        LinkSerializer,
        problems=(
            "not_allowed_here unsupported_currency amount_too_small invalid_payment_method "
            "duplicate_reference slug_taken"
        ),
    )
    def post(self, request: Request) -> Response:
        """Create a payment link.

        Share its `url` with your payers. Each payer gets a checkout of their own, and each attempt to pay is an
        ordinary payment with `payment_link_id`, whose outcome you receive by webhook. With `max_uses: 1` it is the
        checkout of one order.
        """
        result = links.create(
            business=business_of(request),
            request=read_body(request, LinkSerializer),
            actor=key_acting(request),
            now=clock.now(),
        )
        link = result.resource
        return created_or_replayed(
            result,
            with_warnings(answers.represent_link(link), cast("dict[str, Any]", request.data)),
            location=f"/api/payment-links/{link.reference}",
        )

    @operation(
        "listPaymentLinks",
        page(answers.PAYMENT_LINKS_PAGE),
        problems="unsupported_currency",
        filters=link_filters.LinkFilterSerializer,
    )
    def get(self, request: Request) -> Response:
        """List payment links.

        Newest first, with their counts at this moment.
        """
        own = PaymentLink.objects.of(business_of(request)).select_related("business")
        rows = link_filters.filtered_links(own, request.query_params, now=clock.now())
        return Response(page_of(self, rows, answers.represent_link))


class PaymentLinkView(APIView):
    @operation("getPaymentLink", ok(answers.PAYMENT_LINK, "The link's current state."))
    def get(self, request: Request, reference: str) -> Response:
        """Look up a payment link.

        Its status and counts at this moment. With `max_uses: 1`, the order is paid when `uses_paid` is 1.
        """
        return Response(answers.represent_link(_find(request, reference)))

    @operation(
        "updatePaymentLink",
        ok(answers.PAYMENT_LINK, "The link."),
        LinkChangeSerializer,
        problems="not_allowed_here invalid_payment_method invalid_state",
    )
    def patch(self, request: Request, reference: str) -> Response:
        """Change a payment link.

        `null` removes an optional field. Fields that define what is sold (`reference`, `amount`, `amount_range`,
        `currency`, `quantity_max`, `customer`, `slug`) never change: a printed code must not ask for another price.
        Create a new link instead.
        """
        changed = links.change(
            link_id=_find(request, reference).pk,
            changes=read_body(request, LinkChangeSerializer),
            actor=key_acting(request),
            now=clock.now(),
        )
        return Response(answers.represent_link(changed))


class DeactivateLinkView(APIView):
    @operation("deactivatePaymentLink", ok(answers.PAYMENT_LINK, "The link."), VoidSerializer)
    def post(self, request: Request, reference: str) -> Response:
        """Deactivate a payment link.

        Payers can no longer begin to pay. Pending payments go on to their end. Repeating the call changes nothing.
        """
        read_body(request, VoidSerializer)
        link = links.deactivate(
            link_id=_find(request, reference).pk, actor=key_acting(request), now=clock.now()
        )
        return Response(answers.represent_link(link))


class ActivateLinkView(APIView):
    @operation(
        "activatePaymentLink", ok(answers.PAYMENT_LINK, "The link."), VoidSerializer, problems="invalid_state"
    )
    def post(self, request: Request, reference: str) -> Response:
        """Activate a payment link again.

        Repeating the call changes nothing. A link that the operator has blocked can't be activated.
        """
        read_body(request, VoidSerializer)
        link = links.activate(
            link_id=_find(request, reference).pk, actor=key_acting(request), now=clock.now()
        )
        return Response(answers.represent_link(link))


class LinkCheckoutsView(APIView):
    @operation("listCheckouts", page(answers.CHECKOUTS_PAGE), filters=link_filters.CheckoutFilterSerializer)
    def get(self, request: Request, reference: str) -> Response:
        """List the checkouts of a payment link: who paid or tried.

        Newest first, with what each payer entered and the state of their attempts.
        """
        wanted = narrowed(Checkout.objects.all(), request.query_params, link_filters.CheckoutFilterSerializer)
        rows = page_of(self, wanted.filter(link=_find(request, reference)), lambda checkout: checkout)
        shown = checkouts.shown_with_attempts(rows["data"], now=clock.now())
        return Response(rows | {"data": [answers.represent_checkout(each) for each in shown]})


class PaymentCheckoutView(APIView):
    @operation(
        "getPaymentCheckout", ok(answers.CHECKOUT, "The checkout's current state."), tags=["Payment links"]
    )
    def get(self, request: Request, reference: str) -> Response:
        """Look up the checkout that a payment came from.

        What the payer entered. 404 if the payment came from no link.
        """
        checkout = checkouts.checkout_of(business_of(request), reference)
        if checkout is None:
            raise NotFound
        [shown] = checkouts.shown_with_attempts([checkout], now=clock.now())
        return Response(answers.represent_checkout(shown))


def _find(request: Request, reference: str) -> PaymentLink:
    """Return the caller's link. Returns 404 for links of other businesses."""
    link = links.find_of(business_of(request), reference)
    if link is None:
        raise NotFound
    return link
