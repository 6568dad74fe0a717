"""URLs of the front page and the guides."""

from django.urls import path
from django.views.generic import RedirectView

from developer_site import site_files, views
from developer_site.guides import components
from developer_site.search import search_views
from merchants.people.access import only_redirects

urlpatterns = [
    path("favicon.ico", site_files.favicon, name="favicon"),
    path("robots.txt", site_files.robots, name="robots"),
    path(".well-known/security.txt", site_files.security, name="security-contact"),
    path("", views.front_page, name="front"),
    path("docs", only_redirects(RedirectView.as_view(pattern_name="docs"))),
    path("docs/", views.docs_page, name="docs"),
    path("docs/test-data", views.data_page, name="test-data"),
    path("docs/components", components.components_page, name="components"),
    path("docs/events", views.events_page, name="event-catalogue"),
    path("docs/search", search_views.search_page, name="docs-search"),
    path("docs/errors/", views.errors_page, name="errors"),
    path("docs/errors/<str:code>", views.error_page, name="error-page"),
    path("docs/samples/<path:name>", views.sample_file, name="sample"),
    path("docs/<str:slug>", views.guide_page, name="guide"),
]
