"""Decide about several rows of a list at once, after a page that shows them and their sums.

Each row is decided about in its own transaction, under its own lock, so one that another person decided about meanwhile
doesn't keep the others. The result names the rows that were left out.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode

from kit.api.errors import Problem
from kit.money.money import money
from kit.text.ids import read_id
from kit.text.plurals import counted
from merchants.admin import ReadOnlyAdmin
from merchants.people.access import open_to, right

MOST = 100  # rows of one decision
CHOSEN = "_selected_action"  # as in the form of the list


class BulkReasonForm(forms.Form):
    """The reason of a decision about several rows."""

    reason = forms.CharField(max_length=255, help_text="Recorded in the audit trail, for each of them.")


@dataclass(frozen=True, slots=True)
class Item:
    """A chosen row: its name, business, amount in minor units, and why it can't be decided about, if it can't."""

    row: Any
    name: str
    business: str
    currency: str
    amount: int
    obstacle: str


class BulkDecisionAdmin(ReadOnlyAdmin):
    """A list with an action for several rows. Subclasses say which rows can be decided about, and decide."""

    bulk_name: ClassVar[str]  # the last part of the address, and a verb
    bulk_title: ClassVar[str]
    bulk_button: ClassVar[str]
    bulk_noun: ClassVar[tuple[str, str]]  # singular and plural
    bulk_needs_reason: ClassVar[bool] = True
    bulk_explanation: ClassVar[str] = ""
    actions = ("choose",)

    def has_bulk_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(self.may_act_on_list)

    def bulk_rows(self, ids: Sequence[UUID]) -> QuerySet[Any]:
        """Return the rows with these IDs, and all that `bulk_item` reads."""
        raise NotImplementedError

    def bulk_item(self, request: HttpRequest, row: Any) -> Item:
        raise NotImplementedError

    def bulk_decide(self, request: HttpRequest, row: Any, *, reason: str) -> None:
        """Decide about a row.

        :raises Problem: its state doesn't allow it any more
        """
        raise NotImplementedError

    def bulk_done(self, count: str, sums: str) -> str:
        """Return the message after the decision."""
        raise NotImplementedError

    def get_urls(self) -> list[URLPattern]:
        people = right(self.may_act_on_list)
        action = self.bulk_title[:1].lower() + self.bulk_title[1:]
        declare = open_to(people, writers=people, action=action, needs_second_person=True)
        view = declare(self.admin_site.admin_view(self.decide_about_chosen))
        return [path(f"{self.bulk_name}/", view, name=self._address_name()), *super().get_urls()]

    def get_actions(self, request: HttpRequest) -> Any:
        actions: Any = super().get_actions(request)
        return {
            name: (function, key, self.bulk_button if name == "choose" else label)
            for name, (function, key, label) in actions.items()
        }

    @admin.action(permissions=["bulk"])
    def choose(self, request: HttpRequest, queryset: QuerySet[Any]) -> HttpResponse | None:
        ids = list(queryset.values_list("pk", flat=True)[: MOST + 1])
        if len(ids) > MOST:
            messages.error(request, f"Select at most {MOST} {self.bulk_noun[1]}.")
            return None
        return redirect(f"{reverse(f'admin:{self._address_name()}')}?{urlencode({'id': ids}, doseq=True)}")

    def decide_about_chosen(self, request: HttpRequest) -> HttpResponse:
        """Show the chosen rows with their sums, and decide about them when the form is posted."""
        if not self.has_bulk_permission(request):
            raise PermissionDenied
        chosen = self._chosen(request, request.POST, CHOSEN) if request.POST else None
        items = chosen if chosen is not None else self._chosen(request, request.GET, "id")
        form = BulkReasonForm(request.POST or None) if self.bulk_needs_reason else None
        if not items:
            messages.error(request, f"Select at least one and at most {MOST} {self.bulk_noun[1]}.")
            return redirect(self._list_address())
        if request.method != "POST":
            return self._page(request, items, form)
        if request.POST.get("sums") != _sums(_possible(items)):
            messages.warning(request, "Some of them have changed. Check the list and the sum again.")
            return self._page(request, items, form)
        if form is not None and not form.is_valid():
            return self._page(request, items, form)
        self._decide_about_each(request, items, reason=form.cleaned_data["reason"] if form else "")
        return redirect(self._list_address())

    def _chosen(self, request: HttpRequest, given: QueryDict, name: str) -> list[Item]:
        ids = [each for each in map(read_id, given.getlist(name)[: MOST + 1]) if each]
        if len(ids) > MOST:
            return []
        return [self.bulk_item(request, row) for row in self.bulk_rows(ids)]

    def _page(self, request: HttpRequest, items: list[Item], form: forms.Form | None) -> HttpResponse:
        possible = _possible(items)
        return TemplateResponse(
            request,
            "admin/payments/bulk_decision.html",
            self.admin_site.each_context(request)
            | {
                "title": self.bulk_title,
                "opts": self.opts,
                "items": items,
                "possible": possible,
                "left_out": len(items) - len(possible),
                "count": counted(len(possible), *self.bulk_noun),
                "sums": _sums(possible),
                "form": form,
                "button": self.bulk_button,
                "explanation": self.bulk_explanation,
                "list_address": self._list_address(),
            },
        )

    def _decide_about_each(self, request: HttpRequest, items: list[Item], *, reason: str) -> None:
        done, refused = _try_each(_possible(items), lambda row: self.bulk_decide(request, row, reason=reason))
        if done:
            messages.success(request, self.bulk_done(counted(len(done), *self.bulk_noun), _sums(done)))
        refused += [(item, item.obstacle) for item in items if item.obstacle]
        if refused:
            named = " ".join(f"{item.name} of {item.business}: {why}" for item, why in refused)
            messages.error(request, f"{counted(len(refused), *self.bulk_noun)} left out. {named}")

    def _address_name(self) -> str:
        return f"{self.opts.app_label}_{self.opts.model_name}_{self.bulk_name}"

    def _list_address(self) -> str:
        return reverse(f"admin:{self.opts.app_label}_{self.opts.model_name}_changelist")


def _try_each(
    items: Iterable[Item], decide: Callable[[Model], None]
) -> tuple[list[Item], list[tuple[Item, str]]]:
    """Decide about each item. Return those that were decided about, and the others with the reason."""
    done, refused = [], []
    for item in items:
        try:
            decide(item.row)
        except Problem as problem:
            refused.append((item, str(problem.detail)))
        else:
            done.append(item)
    return done, refused


def _possible(items: Iterable[Item]) -> list[Item]:
    return [item for item in items if not item.obstacle]


def _sums(items: Iterable[Item]) -> str:
    """Return the sum in each currency."""
    sums: dict[str, int] = defaultdict(int)
    for item in items:
        sums[item.currency] += item.amount
    return " + ".join(money(amount, currency) for currency, amount in sorted(sums.items()))
