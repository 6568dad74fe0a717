"""If two owners remove each other concurrently, one of them stays."""

from functools import partial

import pytest
from django.utils import timezone

from merchants.models import Member
from merchants.people import team
from merchants.people.audit import Actor
from tests.factories import BusinessFactory, MemberFactory
from tests.racing import racers


@pytest.mark.django_db(transaction=True)
class TestLastOwner:
    @pytest.mark.parametrize("change", [team.remove, partial(team.change_role, role="viewer")])
    def test_is_kept_in_concurrent_removals(self, change):
        business = BusinessFactory()
        owners = [MemberFactory(business=business) for _ in range(2)]
        act = partial(change, actor=Actor(name="test"), now=timezone.now())

        with racers(2) as started:
            results = started.race(*[partial(act, member=each, by=each.user) for each in owners])

        assert sorted(type(each).__name__ for each in results) == ["LastOwner", "NoneType"]
        assert Member.objects.filter(business=business, role="owner").count() == 1


@pytest.mark.django_db
class TestActor:
    """An owner is removed between the check of the role and the change."""

    @pytest.mark.parametrize("change", [team.remove, partial(team.change_role, role="owner")])
    def test_changes_nothing_after_losing_the_permission(self, change):
        business = BusinessFactory()
        MemberFactory(business=business, role="owner")
        actor = MemberFactory(business=business, role="owner")
        member = MemberFactory(business=business, role="viewer")
        Member.objects.filter(pk=actor.pk).update(role="viewer")

        with pytest.raises(team.MayNotManage):
            change(member=member, by=actor.user, actor=Actor(name="test"), now=timezone.now())

        assert Member.objects.get(pk=member.pk).role == "viewer"
