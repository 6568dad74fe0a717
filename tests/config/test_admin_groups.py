"""Pages of rows with many fields have them under headings."""

import pytest
from django.contrib import admin

from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

MANY = 12  # fields

admin.autodiscover()


@pytest.mark.parametrize("model", admin.site._registry, ids=lambda model: model._meta.label_lower)
def test_many_fields_have_headings(model, rf):
    pages, request = admin.site._registry[model], rf.get("/admin/")
    request.user = UserFactory(is_staff=True, is_superuser=True)
    fields = pages.get_fields(request, model())

    shown = pages.grouped(fields)

    assert sum(len(of_group["fields"]) for _, of_group in shown) == len(fields)
    if len(fields) > MANY:
        assert None not in [heading for heading, _ in shown], shown[-1]
