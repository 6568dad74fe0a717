"""Is the process alive, and can it serve?"""

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse


def livez(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """The process answers."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> JsonResponse:  # noqa: ARG001
    """The process can serve: its database answers."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "unavailable", "database": "away"}, status=503)
    return JsonResponse({"status": "ok", "database": "ok"})
