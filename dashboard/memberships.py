"""Access to the dashboard: the signed-in user, the selected business, and what the role permits.

Views get the business only from here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.template.response import SimpleTemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.mfa_policy import must_set_up
from disputes.models import Dispute
from merchants.models import Business, Member, User
from merchants.people import roles
from merchants.people.access import AccessRule, Limit, Who, attach
from merchants.people.roles import Permission
from payments.rules.words.dispute_words import Status
from payments.services.rails import rail_choices

SELECTED = "dashboard.business"  # key in the session
FORM_BUSINESS = "for_business"  # hidden field of forms: `dashboard.templatetags.form_business` adds it
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Membership:
    """The user's membership of the selected business, and their other businesses."""

    member: Member
    others: list[Business]
    disputes_to_answer: int = 0

    @property
    def business(self) -> Business:
        return self.member.business

    @property
    def may(self) -> dict[str, bool]:
        """Return each permission and whether the role has it. In a template: `membership.may.refund`."""
        return {each.value: roles.may(self.member.role, each) for each in Permission}

    @property
    def may_begin_payouts(self) -> bool:
        """Return whether the role may pay out, and a bank is connected that does."""
        return roles.may(self.member.role, Permission.PAY_OUT) and rail_choices.sends_payouts(self.business)

    @property
    def denial_reason(self) -> dict[str, str]:
        """Return the explanation of each missing permission. In a template: `membership.denial_reason.refund`."""
        return {each.value: roles.denial_reason(each) for each in Permission}


class NotInThisRole(PermissionDenied):
    """The member's role lacks the permission. The message is for the page."""


class MemberRequest(HttpRequest):
    """A request of a signed-in user. Django creates plain requests; this is only the type of those that got here."""

    membership: Membership | None  # for the frame of the page


View = Callable[..., HttpResponseBase]
Decorator = Callable[[View], View]


READ, FORM, ACT = ["GET", "HEAD"], ["GET", "HEAD", "POST"], ["POST"]


def for_members(rule: AccessRule, methods: list[str], *, in_any_business: bool = False) -> Decorator:
    """Pass the user's `Membership` to a view, if the role has the permission. Redirect users who aren't signed in.

    A form that was rendered for another business than the selected one gets a 409 and has no effect, unless it may be
    submitted `in_any_business`.

    :raises NotInThisRole: the member's role lacks the permission; results in our 403 page
    """

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        @never_cache
        def guarded(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return redirect(_sign_in_address(request))
            membership = find_membership(request, request.user)
            if membership is None:
                return render(request, "dashboard/no_business.html", status=HTTPStatus.FORBIDDEN)
            if must_set_up(request, request.user, role=membership.member.role):
                return redirect("mfa_activate_totp")
            needed = Permission(str(rule.readers if request.method in SAFE_METHODS else rule.writers))
            if not roles.may(membership.member.role, needed):
                raise NotInThisRole(roles.denial_reason(needed))
            request.membership = membership
            with timezone.override(membership.business.zone):
                if not in_any_business and is_form_of_another_business(request, membership):
                    return refuse_form(request, membership)
                return rendered(view(request, membership, *args, **kwargs))

        return attach(rule, guarded)

    return decorate


members_page = for_members(AccessRule(readers=Permission.VIEW), READ)
members_export = for_members(AccessRule(readers=Permission.VIEW, limits=(Limit.EXPORT,)), READ)


def members_form(
    action: str, *, may: Permission, shown_to: Permission | None = None, **rule: Any
) -> Decorator:
    """Make a view a page with a form, whose submission needs the permission `may`. `rule`: see `AccessRule`."""
    return for_members(AccessRule(readers=shown_to or may, writers=may, action=action, **rule), FORM)


def members_action(action: str, *, may: Permission, in_any_business: bool = False, **rule: Any) -> Decorator:
    """Make a view the target of a form on another page. `rule`: see `AccessRule`."""
    declared = AccessRule(writers=may, action=action, **rule)
    return for_members(declared, ACT, in_any_business=in_any_business)


def is_form_of_another_business(request: HttpRequest, membership: Membership) -> bool:
    """Return whether an unsafe request comes from a page of another business than the selected one.

    The user may have selected another business in another tab meanwhile. A request that doesn't name its business is
    accepted only from members of a single one: such a page comes from the release before this field.
    """
    if request.method in SAFE_METHODS:
        return False
    named = request.POST.getlist(FORM_BUSINESS)
    if not named:
        return bool(membership.others)
    return set(named) != {str(membership.business.pk)}


def refuse_form(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Return the page for a form of another business, with a button that switches back, if possible."""
    named = request.POST.get(FORM_BUSINESS)
    former = next((each for each in membership.others if str(each.pk) == named), None)
    context = {"business": membership.business, "former": former}
    return render(request, "dashboard/other_business.html", context, status=HTTPStatus.CONFLICT)


def for_person(rule: AccessRule, methods: list[str]) -> Decorator:
    """Allow all signed-in users, members of a business or not. `request.membership` may be None."""

    def decorate(view: View) -> View:
        @require_http_methods(methods)
        @wraps(view)
        @never_cache
        def guarded(request: MemberRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return redirect(_sign_in_address(request))
            request.membership = membership = find_membership(request, request.user)
            with timezone.override(membership.business.zone if membership else None):
                return rendered(view(request, *args, **kwargs))

        return attach(rule, guarded)

    return decorate


def person_page(**rule: Any) -> Decorator:
    """Make a view a page of the user's own account. `rule`: see `AccessRule`."""
    return for_person(AccessRule(readers=Who.PERSON, **rule), READ)


def person_form(action: str, **rule: Any) -> Decorator:
    return for_person(AccessRule(readers=Who.PERSON, writers=Who.PERSON, action=action, **rule), FORM)


def person_action(action: str, **rule: Any) -> Decorator:
    return for_person(AccessRule(writers=Who.PERSON, action=action, **rule), ACT)


def rendered(response: HttpResponseBase) -> HttpResponseBase:
    """Render a page now instead of after its view, while the business's time zone is active."""
    return response.render() if isinstance(response, SimpleTemplateResponse) else response


def switch_to(request: HttpRequest, membership: Membership, business_id: str) -> bool:
    """Select another of the user's businesses. Return False if the user isn't a member of it."""
    if business_id not in {str(business.pk) for business in [membership.business, *membership.others]}:
        return False
    request.session[SELECTED] = business_id
    return True


def select_business(request: HttpRequest, business: Business) -> None:
    """Select a business that the user has just joined."""
    request.session[SELECTED] = str(business.pk)


def _sign_in_address(request: HttpRequest) -> str:
    address = reverse("sign-in")
    if request.method != "GET" or request.path == reverse("overview"):
        return address
    return f"{address}?{urlencode({'next': request.get_full_path()})}"


def membership_of_frame(request: HttpRequest) -> Membership | None:
    """Return the membership for the frame of an error page; None if the user may not see the dashboard."""
    user = getattr(request, "user", None)
    if not request.path.startswith(reverse("overview")) or not isinstance(user, User):
        return None
    membership = find_membership(request, user)
    if membership is None or must_set_up(request, user, role=membership.member.role):
        return None
    return membership


def find_membership(request: HttpRequest, user: User) -> Membership | None:
    """Return the membership of the selected business, by default the first; None for a user without a business."""
    members = list(
        Member.objects.filter(user=user, business__is_active=True)
        .select_related("business")
        .annotate(disputes_to_answer=Subquery(_disputes_to_answer()))
        .order_by("business__name", "pk")
    )
    if not members:
        return None
    selected = request.session.get(SELECTED)
    member = next((each for each in members if str(each.business_id) == selected), members[0])
    return Membership(
        member=member,
        others=[each.business for each in members if each is not member],
        disputes_to_answer=member.disputes_to_answer or 0,
    )


def _disputes_to_answer() -> QuerySet[Any]:
    """Return the number for the navigation, as part of the query for the members: it costs pages no query."""
    waiting = Dispute.objects.filter(business=OuterRef("business"), status=Status.NEEDS_RESPONSE)
    return waiting.order_by().values("business").annotate(number=Count("pk")).values("number")
