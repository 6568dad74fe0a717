"""Rows for tests: Ada's business asks, Bisi's must see nothing of it."""

import factory

from merchants.models import ApiKey, Business


class BusinessFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Business

    name = factory.Sequence(lambda n: f"Business {n}")


class ApiKeyFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = ApiKey

    business = factory.SubFactory(BusinessFactory)
    public_id = factory.Sequence(lambda n: f"pk_sandbox_test{n:08}")
    secret = factory.Sequence(lambda n: f"sk_sandbox_test{n:035}")
