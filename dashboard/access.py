"""Who is looking, and at which business. The only way from a session to a business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from dashboard.mfa_policy import must_set_up
from merchants import roles
from merchants.models import Business, Member, User
from merchants.roles import Permission

CHOSEN = "dashboard.business"  # in the session
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A person's place: in this business, and in which others they could sit."""

    member: Member
    others: list[Business]

    @property
    def business(self) -> Business:
        return self.member.business

    @property
    def may(self) -> dict[str, bool]:
        """Return what this person may do here; a template asks `seat.may.refund`."""
        return {each.value: roles.may(self.member.role, each) for each in Permission}

    @property
    def why_not(self) -> dict[str, str]:
        """Return the reason to show where a person may not: `seat.why_not.refund`."""
        return {each.value: roles.why_not(each) for each in Permission}


class NotInThisRole(PermissionDenied):
    """A member asks for what the role does not allow. The message is a sentence for the page."""


View = Callable[..., HttpResponseBase]
Decorator = Callable[[View], View]


def for_members(
    *,
    may: Permission = Permission.LOOK,
    to_change: Permission | None = None,
) -> Decorator:
    """Give a view the `Seat` of whoever is signed in; send everybody else where they can get one.

    `may` is asked for whatever the method; `to_change` only where the method is not a safe one, for pages
    that everybody sees and some may change. `config.access_rules` declares which pages require recent
    reauthentication.

    :raises NotInThisRole: the member's role does not allow it; answered with our page of 403
    """

    def decorate(view: View) -> View:
        @wraps(view)
        @never_cache
        def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if not isinstance(request.user, User):
                return redirect(_sign_in_address(request))
            seat = find_seat(request, request.user)
            if seat is None:
                return render(request, "dashboard/no_business.html", status=HTTPStatus.FORBIDDEN)
            if must_set_up(request, request.user, role=seat.member.role):
                return redirect("mfa_activate_totp")
            needed = may if to_change is None or request.method in SAFE_METHODS else to_change
            if not (roles.may(seat.member.role, may) and roles.may(seat.member.role, needed)):
                raise NotInThisRole(roles.why_not(needed))
            request.seat = seat  # type: ignore[attr-defined]  # the frame of the page shows it
            return view(request, seat, *args, **kwargs)

        guarded.opens_to = (may, to_change or may)  # type: ignore[attr-defined]  # for `config.access_rules`
        return guarded

    return decorate


def for_people(view: View) -> View:
    """Open a view to everybody who is signed in, member of a business or not; `request.seat` may be None."""

    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not isinstance(request.user, User):
            return redirect(_sign_in_address(request))
        request.seat = find_seat(request, request.user)  # type: ignore[attr-defined]
        return view(request, *args, **kwargs)

    return guarded


def members_only(view: View) -> View:
    """Open a view to every member, whatever the role."""
    return for_members()(view)


def choose(request: HttpRequest, seat: Seat, business_id: str) -> bool:
    """Sit down in another of one's businesses; False where it is not one of them."""
    if business_id not in {str(business.pk) for business in [seat.business, *seat.others]}:
        return False
    request.session[CHOSEN] = business_id
    return True


def sit_at(request: HttpRequest, business: Business) -> None:
    """Sit down in a business that one has just joined."""
    request.session[CHOSEN] = str(business.pk)


def _sign_in_address(request: HttpRequest) -> str:
    address = reverse("sign-in")
    if request.method != "GET" or request.path == reverse("overview"):
        return address
    return f"{address}?{urlencode({'next': request.get_full_path()})}"


def find_seat(request: HttpRequest, user: User) -> Seat | None:
    """Return the user's place in the business that was chosen, or else in the first; None for a user of none."""
    members = list(
        Member.objects.filter(user=user, business__is_active=True)
        .select_related("business")
        .order_by("business__name", "pk")
    )
    if not members:
        return None
    chosen = request.session.get(CHOSEN)
    member = next((each for each in members if str(each.business_id) == chosen), members[0])
    return Seat(member=member, others=[each.business for each in members if each is not member])
