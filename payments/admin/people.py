"""Admin pages of users and groups: `merchants` describes them, and a second person confirms the rights of staff."""

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import Group

from kit.text.masking import mask_card_numbers
from merchants.admin import people
from merchants.models import User
from payments.admin.decisions.submitting import SubmittedForm
from payments.models import Proposal
from payments.services.staff.actions import rights
from payments.services.staff.staff_action import StaffAction


@admin.register(User)
class UserAdmin(SubmittedForm, people.UserAdmin):
    proposed_as = Proposal.Action.CHANGE_USER

    def action_of(self, obj: User, form: Any) -> StaffAction:
        """Return the change of the fields that the person may change."""
        given = {name: form.cleaned_data[name] for name in rights.FLAGS if name in form.cleaned_data}
        if "groups" in form.cleaned_data:
            given["groups"] = sorted(group.name for group in form.cleaned_data["groups"])
        return rights.user_change(obj, given, reason=form.cleaned_data["reason"])


@admin.register(Group)
class GroupAdmin(SubmittedForm, people.GroupAdmin):
    proposed_as = Proposal.Action.CHANGE_GROUP

    def action_of(self, obj: Group, form: Any) -> StaffAction:
        given = form.cleaned_data
        # Also in the row, which Django names in its message and its log.
        given["name"] = obj.name = mask_card_numbers(given["name"])
        values = {"name": given["name"], "permissions": rights.permission_names(given["permissions"])}
        return rights.group_change(obj, values, reason=given["reason"])

    def added_row(self, obj: Group) -> Group:
        return Group.objects.latest("pk")
