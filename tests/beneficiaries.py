"""Beneficiaries for tests."""

from typing import Any

from django.utils import timezone

from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Beneficiary
from payments.services.payouts import beneficiaries
from tests import orders


def beneficiary_of(business: Business, **changes: Any) -> Beneficiary:
    """Save a beneficiary. The sandbox's bank confirms its name, unless its account is a special one."""
    request = orders.beneficiary(**changes)
    actor = Actor(name="test")
    return beneficiaries.create(business=business, request=request, actor=actor, now=timezone.now()).resource


def blocked_beneficiary(business: Business, **changes: Any) -> Beneficiary:
    """Save a beneficiary, and block its account as the business does."""
    beneficiary = beneficiary_of(business, **changes)
    beneficiaries.block(beneficiary.pk, reason="Theft", actor=Actor(name="test"), now=timezone.now())
    return beneficiary
