"""URLs of the collections of requests."""

from django.urls import path, re_path

from developer_site.collections.views import CollectionView, NoSuchCollection

urlpatterns = [
    path(
        "api/collections/postman.json",
        CollectionView.as_view(file="postman.json"),
        name="postman-collection",
    ),
    path("api/collections/bruno.zip", CollectionView.as_view(file="bruno.zip"), name="bruno-collection"),
    re_path(r"^api/collections/", NoSuchCollection.as_view()),
]
