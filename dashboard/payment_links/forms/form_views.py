"""The pages that create and change a payment link, by the API's rules and services.

The reference is the idempotency key: a form that is submitted twice makes one link.
"""

from __future__ import annotations

import secrets
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.memberships import Membership, members_form
from dashboard.payment_links.forms.account_choices import account_choices
from dashboard.payment_links.forms.form_fields import as_typed
from dashboard.payment_links.forms.forms import (
    FIXED,
    ChangeLinkForm,
    NewLinkForm,
    NewLinkForOneForm,
    initial_like,
    new_link_initial,
)
from dashboard.payment_links.forms.link_errors import add_link_errors
from dashboard.payment_links.lookup import own_link
from dashboard.payment_links.sharing.shown_links import shown
from kit.api.fields.strict_fields import read_request
from kit.api.replays import DuplicateReference
from kit.db import clock
from kit.money.money import written
from kit.text.ids import read_id
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.api.link_serializers import LinkChangeSerializer, LinkSerializer
from payments.models import InvalidState, PaymentLink, Transaction
from payments.services.links import links
from payments.services.links.links import SlugTaken

CREATE, CHANGE = LinkSerializer(), LinkChangeSerializer()
FOR_ONE = "one"
PREVIEW = "preview"  # a submission that only shows what payers would see


@members_form("create a payment link", may=Permission.MANAGE_LINKS)
def new_link_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Create a link for many payments, or for one, which is proposed to expire after 30 days; or preview it.

    :raises Http404: the link that the new one is to be like isn't the business's
    """
    like = _like(request, membership)
    is_for_one = request.GET.get("for") == FOR_ONE or (like is not None and like.max_uses == 1)
    kind: type[NewLinkForm] = NewLinkForOneForm if is_for_one else NewLinkForm
    form = kind(
        request.POST or None,
        currencies=membership.business.currencies,
        accounts=account_choices(membership.business, stored=like.account if like else None),
        initial=_proposed(is_for_one=is_for_one, like=like) | _instead_of(request, membership),
    )
    is_preview = request.POST.get("step") == PREVIEW
    if request.method == "POST" and form.is_valid() and not is_preview:
        link = _create(request, membership, form)
        if link is not None:
            messages.success(request, "Payment link created. Share its address with your payers.")
            return redirect("dashboard-payment-link", link.pk)
    context = {"membership": membership, "form": form, "is_preview": is_preview}
    return render(request, "dashboard/payment_links/new.html", context)


@members_form("change a payment link", may=Permission.MANAGE_LINKS)
def change_link_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Change a link. The fields that never change are shown as text.

    :raises Http404: there is no such link, or it is another business's
    """
    link = own_link(membership, link_id)
    accounts = account_choices(membership.business, stored=link.account)
    form = ChangeLinkForm.of(link, request.POST or None, accounts=accounts)
    if request.method == "POST" and form.is_valid() and _change(request, form, link):
        messages.success(request, "Payment link saved.")
        return redirect("dashboard-payment-link", link.pk)
    context = {"membership": membership, "form": form, "link": link, "shown": shown(link, now=clock.now())}
    return render(request, "dashboard/payment_links/change.html", context)


def _like(request: HttpRequest, membership: Membership) -> PaymentLink | None:
    """Return the link that the new one is to be like, if the query names one."""
    key = read_id(request.GET.get("like", ""))
    return own_link(membership, key) if key else None


def _instead_of(request: HttpRequest, membership: Membership) -> dict[str, Any]:
    """Return what the form proposes for the failed payment that the query names, if it names one."""
    key = read_id(request.GET.get("instead_of", ""))
    mine = Transaction.objects.of(membership.business).select_related("payment_link")
    failed = mine.filter(pk=key, request_type=Transaction.RequestType.PAYMENT).first() if key else None
    if failed is None:
        return {}
    return {
        "title": failed.payment_link.title if failed.payment_link else f"Payment {failed.reference}",
        "currency": failed.currency,
        "price": FIXED,
        "amount": written(failed.amount, failed.currency),
    }


def _proposed(*, is_for_one: bool, like: PaymentLink | None) -> dict[str, Any]:
    """Return what the form of a new link proposes."""
    now = clock.now()
    proposed = new_link_initial() if like is None else initial_like(like, now=now)
    proposed["reference"] = f"link-{secrets.token_hex(6)}"
    if is_for_one:
        proposed["expires_at"] = as_typed(now + NewLinkForOneForm.EXPIRES_AFTER)
    return proposed


def _create(request: HttpRequest, membership: Membership, form: NewLinkForm) -> PaymentLink | None:
    """Create the link; return None if the form has errors instead."""
    business = membership.business
    try:
        wanted = read_request(CREATE, form.order(), currencies=business.currencies)
        result = links.create(
            business=business, request=wanted, actor=person_acting(request), now=clock.now()
        )
    except ValidationError as refusal:
        add_link_errors(form, refusal.detail, currency=form.cleaned_data["currency"])
    except DuplicateReference:
        form.add_error("reference", "Another link has this reference. Choose another one.")
    except SlugTaken as refusal:
        form.add_error("slug", str(refusal.detail))
    else:
        return result.resource
    return None


def _change(request: HttpRequest, form: ChangeLinkForm, link: PaymentLink) -> bool:
    """Change the link; return False if the form has errors instead."""
    if form.cleaned_data["made"] not in {"", link.updated_at.isoformat()}:
        form.add_error(
            None, "The link was changed after this page was opened. Open it again, then change it."
        )
        return False
    try:
        changes = read_request(CHANGE, form.changes(), currencies=link.business.currencies)
        links.change(link_id=link.pk, changes=changes, actor=person_acting(request), now=clock.now())
    except ValidationError as refusal:
        add_link_errors(form, refusal.detail, currency=link.currency)
    except InvalidState:  # more uses are paid or held by now
        link.refresh_from_db()
        taken = link.uses_paid + link.uses_held
        form.add_error(
            "max_uses", f"{taken:,} uses are paid or held. Enter {taken:,} or more, or leave it empty."
        )
    else:
        return True
    return False
