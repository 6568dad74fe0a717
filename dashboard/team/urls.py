"""URLs of the team pages."""

from django.urls import path

from dashboard.team import join_views, views

urlpatterns = [
    path("dashboard/team/", views.team_page, name="dashboard-team"),
    path("dashboard/team/invite/", views.invite_page, name="dashboard-invite"),
    path("dashboard/team/<int:member_id>/", views.member_page, name="dashboard-member"),
    path("dashboard/team/<int:member_id>/remove/", views.remove_page, name="dashboard-remove-member"),
    path(
        "dashboard/team/invitations/<uuid:invitation_id>/withdraw/", views.withdraw, name="dashboard-withdraw"
    ),
    path("dashboard/invitation/<str:token>/", join_views.JoinPage.as_view(), name="invitation"),
]
