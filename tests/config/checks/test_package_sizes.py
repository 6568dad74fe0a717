"""A package with too many modules is found by `make lint`."""

import pytest
from django.core.management import CommandError, call_command

from config.checks import migrations, package_sizes, templates
from config.management.commands import check_project


@pytest.fixture
def fill(tmp_path):
    def make(package, modules):
        folder = tmp_path / package
        folder.mkdir(parents=True, exist_ok=True)
        (tmp_path / "shop" / "__init__.py").touch()
        for name in ["__init__", *(f"module_{number}" for number in range(modules))]:
            (folder / f"{name}.py").touch()

    return make


@pytest.mark.parametrize("package", ["shop", "shop/services", "shop/management/commands"])
def test_package_with_thirteen_modules_is_found(fill, tmp_path, package):
    fill(package, 13)

    (complaint,) = package_sizes.complaints(tmp_path)

    assert complaint.startswith(f"{package} has 13 modules, more than 12. ")


def test_package_with_twelve_modules_is_accepted(fill, tmp_path):
    fill("shop", 12)
    fill("shop/services", 12)

    assert package_sizes.complaints(tmp_path) == []


def test_migrations_are_not_counted(fill, tmp_path):
    fill("shop/migrations", 13)

    assert package_sizes.complaints(tmp_path) == []


def test_what_is_not_the_product_is_not_counted(fill, tmp_path):
    fill("shop", 1)
    (tmp_path / "tests").mkdir()
    for number in range(13):
        (tmp_path / "tests" / f"test_{number}.py").touch()

    assert package_sizes.complaints(tmp_path) == []


def test_packages_have_no_complaints():
    assert package_sizes.complaints() == []


def test_lint_fails_for_a_large_package(monkeypatch):
    monkeypatch.setattr(check_project, "call_command", lambda *_args, **_options: None)
    monkeypatch.setattr(migrations, "complaints", list)
    monkeypatch.setattr(templates, "complaints", list)
    monkeypatch.setattr(package_sizes, "complaints", lambda: ["shop has 13 modules, more than 12."])

    with pytest.raises(CommandError, match="shop has 13 modules"):
        call_command("check_project")
