"""The first yardstick: a bare DRF view that parses a body and echoes it, under the same server."""

from django.conf import settings
from django.core.wsgi import get_wsgi_application

settings.configure(
    SECRET_KEY="benchmark",
    ALLOWED_HOSTS=["*"],
    ROOT_URLCONF="benchmarks.echo_view",
    USE_TZ=True,
    MIDDLEWARE=[],
    REST_FRAMEWORK={
        "DEFAULT_PARSER_CLASSES": ["rest_framework.parsers.JSONParser"],
        "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
        "DEFAULT_AUTHENTICATION_CLASSES": [],
        "DEFAULT_PERMISSION_CLASSES": [],
        "UNAUTHENTICATED_USER": None,
    },
)
application = get_wsgi_application()
