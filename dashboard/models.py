"""Models of the dashboard."""

from typing import ClassVar

from django.db import models

from kit.db.card_number_fields import CheckedEmailField


class PasswordResetRequest(models.Model):
    """A request for a password reset link. A worker emails the link and deletes the row.

    The row is written for any address, with or without an account, and holds no secret.
    """

    id = models.BigAutoField(primary_key=True)
    email = CheckedEmailField(max_length=320)  # as it was entered
    requested_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)  # set while a worker emails the link

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(email=""), name="reset_requests_have_an_address")
        ]

    def __str__(self) -> str:
        return f"{self.requested_at:%Y-%m-%d %H:%M:%S}"
