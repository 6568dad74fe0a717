"""What the dashboard keeps of its own."""

from typing import ClassVar

from django.db import models


class PasswordResetRequest(models.Model):
    """Somebody has asked for a link to a new password. A worker mails it, and deletes the row.

    The row is written for any address, without looking it up, and holds no secret.
    """

    id = models.BigAutoField(primary_key=True)
    email = models.EmailField(max_length=320)  # as it was entered
    requested_at = models.DateTimeField()
    leased_until = models.DateTimeField(null=True)  # a worker mails it until then

    class Meta:
        constraints: ClassVar = [
            models.CheckConstraint(condition=~models.Q(email=""), name="reset_requests_have_an_address")
        ]

    def __str__(self) -> str:
        return f"{self.requested_at:%Y-%m-%d %H:%M:%S}"
