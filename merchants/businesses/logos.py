"""The logo of a business: it is replaced or removed, and the audit trail identifies each by its content."""

import hashlib
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction

from kit.files.file_types import JPEG, PNG, UnknownFileType, kind_of
from merchants.models import Business, Logo
from merchants.people import audit
from merchants.people.audit import Actor

LONGEST_SIDE = 1_024  # pixels: a small file can be an image that fills a phone's memory


@dataclass(frozen=True, slots=True)
class Image:
    """A logo as it was uploaded."""

    content: bytes
    media_type: str


def read_logo(content: bytes) -> Image:
    """Read a logo that was uploaded.

    :raises ValidationError: it is no PNG or JPEG, or it is too large
    """
    if len(content) > settings.MAX_LOGO_BYTES:
        raise ValidationError("Choose a file of at most 100 KB.")
    try:
        kind = kind_of(content)
    except UnknownFileType:
        kind = None
    if kind is None or kind.type not in (PNG, JPEG):
        raise ValidationError("Choose a PNG or JPEG file.")
    if max(kind.width, kind.height) > LONGEST_SIDE:
        raise ValidationError("Choose an image of at most 1,024 by 1,024 pixels.")
    return Image(content, kind.type.media_type)


@transaction.atomic
def change_logo(
    *, business: Business, image: Image | None, actor: Actor, now: datetime, reason: str = ""
) -> None:
    """Replace the logo, or remove it without an image. Staff give a reason."""
    stored = Business.objects.select_for_update(of=("self",)).get(pk=business.pk)
    former = stored.logo
    if former is None and image is None:
        return
    stored.logo = (
        None if image is None else Logo.objects.create(media_type=image.media_type, content=image.content)
    )
    stored.save(update_fields=["logo"])
    if former is not None:
        former.delete()
    audit.record(
        action="business.settings_changed",
        actor=actor,
        business=stored,
        target=str(stored.pk),
        before={"logo": _digest(former)},
        after={"logo": _digest(stored.logo)} | ({"reason": reason} if reason else {}),
        now=now,
    )


def _digest(logo: Logo | None) -> str:
    return f"SHA-256 {hashlib.sha256(logo.content).hexdigest()}" if logo is not None else ""
