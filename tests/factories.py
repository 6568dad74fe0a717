"""Model factories. By convention, Ada's business makes the requests, and Bisi's must not see its data."""

import factory

from merchants.models import ApiKey, Business, Member, User


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


class UserFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = User

    email = factory.Sequence(lambda n: f"person{n}@example.com")

    @classmethod
    def _create(cls, model_class, *args, **kwargs):
        return model_class.objects.create_user(*args, **kwargs)


class MemberFactory(factory.django.DjangoModelFactory):
    class Meta:
        model = Member

    business = factory.SubFactory(BusinessFactory)
    user = factory.SubFactory(UserFactory)
    role = Member.Role.OWNER
