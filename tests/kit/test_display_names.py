"""Names entered outside of the API are also one line of text."""

import pytest
from django.core.management import CommandError, call_command

from merchants.models import Business
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory

UNREADABLE = ["Ada\nBooks", "Ada\x1bBooks", "Ada\x7f", "Ada\x85Books", "Ada\u202eskooB", "Ada\u202dBooks"]


@pytest.mark.django_db
@pytest.mark.parametrize("name", UNREADABLE)
class TestControlCharacter:
    def test_in_the_name_of_a_new_business_is_rejected(self, name):
        with pytest.raises(CommandError) as refused:
            call_command("create_business", name=f"{name} Ltd", email="ada@example.com")

        assert refused.value.returncode == 2
        assert not Business.objects.exists()

    def test_in_a_business_name_entered_by_staff_is_rejected(self, subtests, client, ada, name):
        for field in ["name", "descriptor"]:
            with subtests.test(field=field):
                signed_in(UserFactory(is_staff=True, is_superuser=True), client=client)
                business = ada.business
                form = {
                    "name": "Ada",
                    "descriptor": "ADA",
                    "currencies": '["NGN"]',
                    "is_active": "on",
                    "reason": "x",
                }

                answer = client.post(
                    f"/admin/merchants/business/{business.pk}/change/",
                    form | {field: f"{name} x"},
                    follow=True,
                )

                assert "control characters" in answer.content.decode()

    def test_in_ones_own_name_becomes_a_space(self, client, ada, name):
        user = MemberFactory(business=ada.business).user
        signed_in(user, client=client)

        client.post("/dashboard/account/name/", {"name": name})

        user.refresh_from_db()
        assert user.name.isprintable()
        assert user.name.startswith("Ada")
