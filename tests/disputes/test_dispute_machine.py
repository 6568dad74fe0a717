"""Everything that can happen to disputed payments, in any order: the ledger is right, and no one is paid back twice.

DISPUTE_SEEDS=2000 plays more of them.
"""

import os
import random
from uuid import UUID

import pytest

from disputes.models import Dispute
from payments.rules.words.dispute_words import OPEN
from tests.disputes.actions import (
    NAMES,
    SETTINGS,
    Actions,
    assert_everything_is_accounted_for,
    assert_paid_back_once,
    broken,
)
from tests.factories import BusinessFactory, UserFactory

pytestmark = pytest.mark.long

SEEDS = int(os.environ.get("DISPUTE_SEEDS", "4"))
STEPS = 40


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.django_db
def test_adds_up_after_any_sequence(seed, clock, settings):
    for name, value in SETTINGS.items():
        setattr(settings, name, value)
    dice = random.Random(seed)
    actions = Actions(BusinessFactory(), UserFactory(is_staff=True, is_superuser=True), dice.choice)
    final: dict[UUID, str] = {}
    actions.pay()
    for _ in range(STEPS):
        actions.act(dice.choice(NAMES))
        clock.advance(hours=dice.choice([0, 1, 80]))

        assert_paid_back_once()
        assert_everything_is_accounted_for(actions.business)
        for pk, status in Dispute.objects.exclude(status__in=OPEN).values_list("pk", "status"):
            assert final.setdefault(pk, status) == status
    assert broken() == []
