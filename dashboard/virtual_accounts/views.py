"""Virtual account pages."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.contrib import messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.memberships import Membership, members_action, members_form, members_page
from dashboard.transactions.request_links import MembersAction, origin_of
from dashboard.ui.forms.api_errors import add_api_errors
from dashboard.ui.lists.lists import list_context
from dashboard.virtual_accounts.account_list import ACCOUNTS, AccountFilter
from dashboard.virtual_accounts.forms import KINDS, NewAccountForm
from kit.api.errors import Problem
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.services.transfers import account_deactivation, awaited_returns
from virtual_accounts.models import Session, Transfer, UnappliedMoney, VirtualAccount
from virtual_accounts.serializers import read_account
from virtual_accounts.services import accounts

SHOWN = 15  # sessions and transfers on an account's page
OPEN_COUNTED = 100


@members_page
def accounts_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = AccountFilter(request.GET, business=membership.business)
    waiting = UnappliedMoney.objects.filter(business=membership.business, state=UnappliedMoney.State.OPEN)
    context = list_context(ACCOUNTS, form, form, membership=membership, query=request.GET)
    context["unapplied"] = waiting[:OPEN_COUNTED].count()
    return render(request, "dashboard/virtual_accounts/accounts.html", context)


@members_page
def account_page(request: HttpRequest, membership: Membership, account_id: UUID) -> HttpResponse:
    """Show an account with its latest sessions and transfers."""
    account = _own(membership, account_id)
    sessions = Session.objects.filter(account=account).select_related("payment").order_by("-id")
    transfers = list(_newest_transfers(account))
    awaited_returns.mark(each.unapplied for each in transfers if each.is_unapplied)
    context = {
        "membership": membership,
        "account": account,
        "sessions": sessions[:SHOWN],
        "transfers": transfers,
        "most_shown": SHOWN,
        "related": list(origin_of(account.business, account.pk, action=_creation(account))),
    }
    return render(request, "dashboard/virtual_accounts/account.html", context)


def _newest_transfers(account: VirtualAccount) -> QuerySet[Transfer]:
    found = Transfer.objects.filter(account=account).select_related("session__payment", "unapplied")
    return found.order_by("-id")[:SHOWN]


def _creation(account: VirtualAccount) -> MembersAction:
    return MembersAction(name="virtual_account.created", target=account.reference)


@members_form("create a virtual account", may=Permission.MANAGE_ACCOUNTS)
def new_account_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Create an account of the selected kind, by the API's rules."""
    kind = request.GET.get("kind", "")
    kind = kind if kind in KINDS else "dynamic"
    form = KINDS[kind](
        request.POST or None,
        currencies=membership.business.currencies,
        initial={"reference": f"account-{secrets.token_hex(6)}", "country": "NGA"},
    )
    if request.method == "POST" and form.is_valid():
        account = _create(request, membership, form)
        if account is not None:
            messages.success(request, "Virtual account created.")
            return redirect("dashboard-virtual-account", account.pk)
    context = {"membership": membership, "form": form, "kind": kind, "kinds": KINDS}
    return render(request, "dashboard/virtual_accounts/new.html", context)


def _create(request: HttpRequest, membership: Membership, form: NewAccountForm) -> VirtualAccount | None:
    try:
        wanted = read_account(form.order(), business=membership.business)
        result = accounts.create(
            business=membership.business, request=wanted, actor=person_acting(request), now=clock.now()
        )
    except ValidationError as refusal:
        add_api_errors(form, refusal.detail, nested=("address",))
        return None
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
        return None
    return result.resource


@members_form("deactivate a virtual account", may=Permission.MANAGE_ACCOUNTS)
def deactivate_page(request: HttpRequest, membership: Membership, account_id: UUID) -> HttpResponse:
    """Explain deactivation, and deactivate the account."""
    account = _own(membership, account_id)
    if request.method == "POST":
        account_deactivation.deactivate(account.pk, actor=person_acting(request), now=clock.now())
        messages.success(request, "Virtual account deactivated.")
        return redirect("dashboard-virtual-account", account.pk)
    open_sessions = Session.objects.filter(account=account, status=Session.Status.PENDING)
    context = {
        "membership": membership,
        "account": account,
        "open_sessions": open_sessions[:OPEN_COUNTED].count(),
        "last_transfer": Transfer.objects.filter(account=account).order_by("-id").first(),
    }
    return render(request, "dashboard/virtual_accounts/deactivate.html", context)


@members_action("activate a virtual account", may=Permission.MANAGE_ACCOUNTS)
def activate(request: HttpRequest, membership: Membership, account_id: UUID) -> HttpResponse:
    account = _own(membership, account_id)
    account_deactivation.activate(account.pk, actor=person_acting(request), now=clock.now())
    messages.success(request, "Virtual account activated.")
    return redirect("dashboard-virtual-account", account.pk)


def _own(membership: Membership, account_id: UUID) -> VirtualAccount:
    return get_object_or_404(VirtualAccount.objects.of(membership.business), pk=account_id)
