"""URLs of the front page and the guides."""

from django.urls import path
from django.views.generic import RedirectView

from config.docs_site import components, views

urlpatterns = [
    path("", views.front_page, name="front"),
    path("docs", RedirectView.as_view(pattern_name="docs")),
    path("docs/", views.docs_page, name="docs"),
    path("docs/test-data", views.data_page, name="test-data"),
    path("docs/components", components.components_page, name="components"),
    path("docs/errors/", views.errors_page, name="errors"),
    path("docs/errors/<str:code>", views.error_page, name="error-page"),
    path("docs/samples/<path:name>", views.sample_file, name="sample"),
    path("docs/<str:slug>", views.guide_page, name="guide"),
]
