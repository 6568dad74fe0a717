"""Admin pages of what staff block with a reason: payment links and beneficiaries."""

from collections.abc import Callable
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from merchants.admin import ReadOnlyAdmin
from merchants.people.request_actors import person_acting


class BlockForm(forms.Form):
    """Why it is blocked. Its merchant reads the reason."""

    reason = forms.CharField(max_length=255, help_text="The merchant reads it. Recorded in the audit trail.")


class UnblockForm(forms.Form):
    """Why the block ends."""

    reason = forms.CharField(max_length=255, help_text="Recorded in the audit trail.")


class BlockableAdmin(ReadOnlyAdmin):
    """Read-only pages with the actions `block` and `unblock`, which subclasses declare."""

    may_block: ClassVar[str]
    block: Callable[..., HttpResponse]
    unblock: Callable[..., HttpResponse]

    def get_urls(self) -> list[URLPattern]:
        actions = {"block": self.block, "unblock": self.unblock}
        return [*self.action_urls("blocked_id", actions), *super().get_urls()]

    def can_block(self, row: Any) -> bool:
        return row.blocked_at is None

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if row is None or not request.user.has_perm(self.may_block):
            return {}
        return {"block_form": BlockForm()} if self.can_block(row) else {"unblock_form": UnblockForm()}

    def decide(
        self, request: HttpRequest, blocked_id: UUID, form: forms.Form, decision: Callable[..., object]
    ) -> HttpResponse:
        """Call `decision` with the reason of a form, or show what is wrong with the form."""
        row = get_object_or_404(self.model, pk=blocked_id)
        is_block = isinstance(form, BlockForm)
        if not form.is_valid():
            messages.error(request, "Nothing was changed. Enter a reason.")
            name = "block_form" if is_block else "unblock_form"
            return self.page_again(request, blocked_id, **{name: form})
        done = f"The {self.opts.verbose_name} is {'blocked' if is_block else 'unblocked'}."
        with refusals_shown(request, done=done):
            decision(
                row.pk, reason=form.cleaned_data["reason"], actor=person_acting(request), now=clock.now()
            )
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", blocked_id)
