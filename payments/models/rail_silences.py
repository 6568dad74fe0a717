"""Rails that are currently unavailable."""

from django.db import models


class RailSilence(models.Model):
    """A rail that didn't answer the last requery. The row is deleted when the rail answers."""

    lane = models.CharField(max_length=40, primary_key=True)  # "bank:http"
    since = models.DateTimeField()
    probed_at = models.DateTimeField()  # when the rail was last queried ahead of schedule

    def __str__(self) -> str:
        return self.lane
