"""Changes of the rights of staff, of fees, of risk terms, of connectors and of bank accounts of ours: actions of staff with values instead of an amount.

Their parameters are `id`, the key of the changed row or None for a new one, `name`, how people call it, and `values`.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import Any
from uuid import NAMESPACE_OID, uuid5

from django.contrib.auth.models import Group, Permission

from cash.models import BankAccount
from cash.services import bank_accounts
from kit.text.masking import mask_card_numbers
from merchants.models import Business, User
from merchants.people import audit, team
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal, RailChoice, RiskTerms, Tariff
from payments.rules.fees import Flow
from payments.services import fee_rules
from payments.services.rails import rail_choices
from payments.services.settlement import risk_terms as agreed_terms
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import StaffAction

Action = Proposal.Action
Values = Mapping[str, Any]

ACTIONS = (
    Action.CHANGE_USER, Action.CHANGE_GROUP, Action.AGREE_FEE, Action.CHOOSE_CONNECTORS, Action.CHANGE_BANK_ACCOUNT,
    Action.AGREE_RISK_TERMS,
)  # fmt: skip
FLAGS = ("is_active", "is_staff", "is_superuser")
RIGHTS = ("is_staff", "is_superuser", "groups")
TERMS = (
    "flow", "currency", "is_offered", "is_withdrawn", "basis_points", "fixed", "fixed_waived_below", "cap", "steps",
    "tax_basis_points", "stamp_duty", "stamp_duty_from",
)  # fmt: skip


class UnknownNames(InvalidState):
    default_detail = "A group or permission of this change was renamed in the meantime. Decide again."


def user_change(user: User, values: Values, *, reason: str) -> StaffAction:
    """Return a change of a user: the flags, and the names of the groups. Users without rights take one person."""
    stored = User.objects.get(pk=user.pk)
    held: dict[str, Any] = {name: getattr(stored, name) for name in FLAGS}
    held["groups"] = sorted(stored.groups.values_list("name", flat=True))
    wanted = {**held, **values}
    has_rights = any(either[name] for either in (held, wanted) for name in RIGHTS)
    return _change(
        Action.CHANGE_USER, user.pk, user.email, wanted, held, reason=reason, needs_second_person=has_rights
    )


def group_change(group: Group, values: Values, *, reason: str) -> StaffAction:
    """Return a change of a group, or a new one: its name, and permissions such as `ledger.add_entry`."""
    values = {**values, "name": mask_card_numbers(values["name"])}
    stored = Group.objects.filter(pk=group.pk).first()
    held = {} if stored is None else {
        "name": stored.name,
        "permissions": permission_names(stored.permissions.all()),
        "members": sorted(User.objects.filter(groups=stored).values_list("email", flat=True)),
    }  # fmt: skip
    return _change(Action.CHANGE_GROUP, group.pk, values["name"], values, held, reason=reason)


def fee(tariff: Tariff, *, reason: str) -> StaffAction:
    """Return the agreement of a fee, for a business or as the default of all."""
    business = tariff.business
    same = Tariff.objects.filter(business=business, flow=tariff.flow, currency=tariff.currency)
    rule = fee_rules.current_rule(business, Flow(tariff.flow), tariff.currency)
    name = f"{tariff.flow} {tariff.currency} of {business or 'all businesses'}"
    values = {term: getattr(tariff, term) for term in TERMS}
    held = {**fee_rules.shown(rule), "agreements": same.count()}
    return _change(Action.AGREE_FEE, None, name, values, held, business=business, reason=reason)


def risk_terms(terms: RiskTerms, *, reason: str) -> StaffAction:
    """Return the agreement of risk terms with a business."""
    name = f"risk terms {terms.currency} of {terms.business}"
    values = agreed_terms.shown(terms)
    held = agreed_terms.shown(agreed_terms.current(terms.business_id, terms.currency))
    held |= {"agreements": RiskTerms.objects.filter(business=terms.business, currency=terms.currency).count()}
    return _change(Action.AGREE_RISK_TERMS, None, name, values, held, business=terms.business, reason=reason)


def connectors(choice: RailChoice, *, reason: str) -> StaffAction:
    """Return the choice of a business's connectors."""
    name, key = f"connectors of {choice.business}", str(choice.business_id)
    values = rail_choices.shown(choice)
    held = rail_choices.shown(RailChoice.objects.filter(pk=choice.business_id).first())
    return _change(Action.CHOOSE_CONNECTORS, key, name, values, held, business=choice.business, reason=reason)


def bank_account(account: BankAccount, *, reason: str) -> StaffAction:
    """Return a new bank account of ours, or new values of one.

    :raises InvalidState: another account has the same number or connector
    """
    if conflict := bank_accounts.conflict(account):
        raise InvalidState(conflict)
    held = bank_accounts.shown(BankAccount.objects.filter(name=account.name).first())
    values = bank_accounts.shown(account)
    return _change(Action.CHANGE_BANK_ACCOUNT, account.name, account.name, values, held, reason=reason)


def _change(
    kind: Proposal.Action,
    key: object,
    name: str,
    values: Values,
    held: MadeAbout,
    *,
    business: Business | None = None,
    **more: Any,
) -> StaffAction:
    return StaffAction(
        kind=kind,
        # Not every key is a UUID. Of each row, one proposal may be open.
        target=uuid5(NAMESPACE_OID, f"sluice {kind} {key or name} {business and business.pk}"),
        business=business,
        parameters={"id": key, "name": name, "values": values},
        made_about=held,
        **more,
    )


def permission_names(permissions: Iterable[Permission]) -> list[str]:
    """Return the names that `has_perm` takes."""
    return sorted(f"{each.content_type.app_label}.{each.codename}" for each in permissions)


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock what an action is about, and make the same action about its present state."""
    key, values, reason = action.parameters["id"], action.parameters["values"], action.reason
    if action.kind == Action.CHANGE_USER:
        return user_change(User.objects.select_for_update().get(pk=key), values, reason=reason)
    if action.kind == Action.CHANGE_GROUP:
        group = Group.objects.select_for_update().filter(pk=key).first() or Group()
        return group_change(group, values, reason=reason)
    if action.business is not None:
        Business.objects.select_for_update().get(pk=action.business.pk)
    if action.kind == Action.AGREE_RISK_TERMS:
        return risk_terms(RiskTerms(business=action.business, **values), reason=reason)
    if action.kind == Action.AGREE_FEE:
        return fee(Tariff(business=action.business, **values), reason=reason)
    if action.kind == Action.CHANGE_BANK_ACCOUNT:
        list(BankAccount.objects.select_for_update().order_by("pk"))
        return bank_account(BankAccount(**values), reason=reason)
    return connectors(RailChoice(business=action.business, **values), reason=reason)


def perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    """Carry out a change, and record it in the audit trail."""
    key, values = action.parameters["id"], action.parameters["values"]
    if action.kind == Action.AGREE_FEE:
        tariff = Tariff(business=action.business, **values)
        fee_rules.agree(tariff, actor=actor, now=now, reason=action.reason)
    elif action.kind == Action.AGREE_RISK_TERMS:
        terms = RiskTerms(business=action.business, **values)
        agreed_terms.agree(terms, actor=actor, now=now, reason=action.reason)
    elif action.kind == Action.CHOOSE_CONNECTORS:
        choice = RailChoice(business=action.business, **values)
        rail_choices.choose(choice, actor=actor, now=now, reason=action.reason)
    elif action.kind == Action.CHANGE_BANK_ACCOUNT:
        bank_accounts.store(values, now=now)
        _record("bank_account.changed", action, key, actor=actor, now=now)
    elif action.kind == Action.CHANGE_USER:
        user = User.objects.get(pk=key)
        _change_user(user, values)
        _record("user.changed", action, user.email, actor=actor, now=now)
        if not user.is_active:
            team.end_invitations_by(inviter=user, actor=actor, now=now)
    else:
        _change_group(Group.objects.filter(pk=key).first() or Group(), values)
        _record("group.changed", action, values["name"], actor=actor, now=now)


def _change_user(user: User, values: Values) -> None:
    groups = list(Group.objects.filter(name__in=values["groups"]))
    if len(groups) != len(values["groups"]):
        raise UnknownNames
    for name in FLAGS:
        setattr(user, name, values[name])
    user.save(update_fields=FLAGS)
    user.groups.set(groups)


def _change_group(group: Group, values: Values) -> None:
    every = Permission.objects.select_related("content_type")
    permissions = [each for each in every if permission_names([each])[0] in values["permissions"]]
    if len(permissions) < len(values["permissions"]):
        raise UnknownNames
    group.name = values["name"]
    group.validate_unique()
    group.save()
    group.permissions.set(permissions)


def _record(name: str, action: StaffAction, target: str, *, actor: Actor, now: datetime) -> None:
    """Audit the values that change."""
    before, values = action.made_about, action.parameters["values"]
    changed = [each for each in values if values[each] != before.get(each)]
    audit.record(
        action=name,
        actor=actor,
        business=None,
        target=target[:100],
        before={each: before[each] for each in changed if each in before},
        after={each: values[each] for each in changed} | {"reason": action.reason},
        now=now,
    )
