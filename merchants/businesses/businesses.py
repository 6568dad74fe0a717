"""Businesses: create one with an owner and a first key pair, find one by id or name."""

import secrets
import uuid
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction

from merchants.api import api_keys
from merchants.models import ApiKey, Business, Member, User
from merchants.people import audit
from merchants.people.audit import Actor


class UnknownBusiness(Exception):
    """No business, or more than one, has the id or name. The message says what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBusiness:
    """A new business with its secret key and its owner's initial password, which are shown only once."""

    business: Business
    owner: User
    password: str | None  # None if the owner already had an account
    key: ApiKey

    def credentials(
        self, *, admin_email: str | None = None, admin_password: str | None = None
    ) -> dict[str, Any]:
        """Return the credentials for the API and the dashboard."""
        return {
            "base_url": settings.PUBLIC_URL,
            "business": str(self.business.pk),
            "business_name": self.business.name,
            "api_key": self.key.public_id,
            "secret_key": self.key.secret,
            "dashboard_url": f"{settings.PUBLIC_URL}/dashboard/",
            "email": self.owner.email,
            "password": self.password,
            "admin_url": f"{settings.PUBLIC_URL}/admin/",
            "admin_email": admin_email,
            "admin_password": admin_password,
        }


@transaction.atomic
def open_business(*, name: str, email: str, actor: Actor, now: datetime) -> OpenedBusiness:
    """Create a business with its owner, who may be an existing user, and its first key pair."""
    business = Business.objects.create(name=name)
    owner = User.objects.with_email(email)
    password = None
    if owner is None:
        password = new_password()
        owner = User.objects.create_user(email, password)
    Member.objects.create(business=business, user=owner, role=Member.Role.OWNER)
    audit.record(
        action="business.created",
        actor=actor,
        business=business,
        target=str(business.pk),
        after={"name": name, "owner": owner.email},
        now=now,
    )
    key = api_keys.create_key(business=business, actor=actor, now=now, name="first key")
    return OpenedBusiness(business=business, owner=owner, password=password, key=key)


def find_business(id_or_name: str) -> Business:
    """Return the business with an id, or the only one with a name.

    :raises UnknownBusiness: there is none, or more than one
    """
    try:
        return Business.objects.get(pk=uuid.UUID(id_or_name))
    except (ValueError, Business.DoesNotExist):
        pass
    named = list(Business.objects.filter(name=id_or_name)[:2])
    if not named:
        raise UnknownBusiness(f"No business has the id or name {id_or_name!r}.")
    if len(named) > 1:
        raise UnknownBusiness(f"Several businesses are named {id_or_name!r}; give the id instead.")
    return named[0]


def new_password() -> str:
    return secrets.token_urlsafe(15)
