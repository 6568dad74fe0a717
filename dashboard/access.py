"""Who is looking, and at which business. The only way from a session to a business."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from http import HTTPStatus
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache

from merchants.models import Business, Member, User

CHOSEN = "dashboard.business"  # in the session


@dataclass(frozen=True, slots=True, kw_only=True)
class Seat:
    """A person's place: in this business, and in which others they could sit."""

    member: Member
    others: list[Business]

    @property
    def business(self) -> Business:
        return self.member.business


View = Callable[..., HttpResponse]


def members_only(view: View) -> View:
    """Give a view the `Seat` of whoever is signed in; send everybody else where they can get one."""

    @wraps(view)
    @never_cache
    def guarded(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if not isinstance(request.user, User):
            return redirect(_sign_in_address(request))
        seat = _find_seat(request, request.user)
        if seat is None:
            return render(request, "dashboard/no_business.html", status=HTTPStatus.FORBIDDEN)
        return view(request, seat, *args, **kwargs)

    return guarded


def choose(request: HttpRequest, seat: Seat, business_id: str) -> bool:
    """Sit down in another of one's businesses; False where it is not one of them."""
    if business_id not in {str(business.pk) for business in [seat.business, *seat.others]}:
        return False
    request.session[CHOSEN] = business_id
    return True


def own_path(path: str) -> str:
    """Return the path, or the overview's where it would lead away from here."""
    is_ours = path.startswith("/") and url_has_allowed_host_and_scheme(path, allowed_hosts=None)
    return path if is_ours else reverse("overview")


def _sign_in_address(request: HttpRequest) -> str:
    address = reverse("sign-in")
    if request.method != "GET" or request.path == reverse("overview"):
        return address
    return f"{address}?{urlencode({'next': request.get_full_path()})}"


def _find_seat(request: HttpRequest, user: User) -> Seat | None:
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
