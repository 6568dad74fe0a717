"""Card numbers in columns of libraries' models, which can't be `FreeTextField`s: masked before a row is saved."""

from typing import Any

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.contrib.auth.models import Group
from django.db.models.signals import pre_save
from django.dispatch import receiver

from kit.text.masking import mask_card_numbers


@receiver(pre_save, sender=UserSession)
def _mask_browser(instance: UserSession, **_: Any) -> None:
    instance.user_agent = mask_card_numbers(instance.user_agent)


@receiver(pre_save, sender=Group)
def _mask_group(instance: Group, **_: Any) -> None:
    instance.name = mask_card_numbers(instance.name)


@receiver(pre_save, sender=Authenticator)
def _mask_passkey(instance: Authenticator, **_: Any) -> None:
    if "name" in instance.data:  # of a passkey, as its owner typed it
        instance.data["name"] = mask_card_numbers(str(instance.data["name"]))
