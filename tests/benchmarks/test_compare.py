"""The command that compares two commits: its arguments and its report. The measurements are not tested."""

import pytest

from benchmarks import compare, compare_webhooks
from benchmarks.compare_api import Round, comparisons
from benchmarks.comparisons import Comparison, print_comparisons
from benchmarks.releases import commit_named

BASE = [Round(rate=100, p50=10, p99=20, web_cpu=2, database_cpu=1) for _ in range(3)]
NEW = [Round(rate=rate, p50=5, p99=15, web_cpu=1, database_cpu=0) for rate in (150, 200, 160)]


def test_without_base_the_error_names_the_command(capsys):
    with pytest.raises(SystemExit):
        compare.parsed(["api"])
    assert "make bench-compare BASE=c1ab994 ARGS=api" in capsys.readouterr().err


def test_unknown_part_is_refused(capsys):
    with pytest.raises(SystemExit):
        compare.parsed(["--base", "HEAD", "apis"])
    assert "there is no part apis; the parts are api, webhooks" in capsys.readouterr().err


def test_help_has_an_example(capsys):
    with pytest.raises(SystemExit):
        compare.parsed(["--help"])
    assert "make bench-compare BASE=c1ab994 ARGS=api" in capsys.readouterr().out


def test_all_parts_are_the_default():
    assert compare.parsed(["--base", "HEAD"]).parts == list(compare.PARTS)


def test_quick_shortens_every_round():
    options = compare.parsed(["--base", "HEAD", "--quick"])
    assert (options.rounds, options.requests, options.backlog) == (1, 100, 1_000)


def test_commit_that_is_not_in_the_repository_is_named():
    with pytest.raises(SystemExit, match="0123456789 is not a commit of this repository"):
        commit_named("0123456789")


def test_report_has_medians_and_ratios_of_adjacent_rounds(capsys):
    print_comparisons(comparisons("POST", BASE, NEW), base="c1ab994c", new="this tree")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "median of the rounds c1ab994c this tree new/base" in lines
    assert "POST: requests 100 160 /s 1.60 [1.50 … 2.00]" in lines
    assert "POST: p50 10 5 ms 0.50 [0.50 … 0.50]" in lines
    assert "POST: p99, of the p50 2 3 times 1.50 [1.50 … 1.50]" in lines
    assert "POST: CPU of PostgreSQL per request 1 0 ms 0.00 [0.00 … 0.00]" in lines


def test_report_of_webhooks_has_rates_and_cpu(capsys):
    base = [compare_webhooks.Round(rate=4_000, sender_cpu=0.2, database_cpu=0.1) for _ in range(3)]
    new = [
        compare_webhooks.Round(rate=rate, sender_cpu=0.1, database_cpu=0.1) for rate in (6_000, 8_000, 7_000)
    ]
    print_comparisons(compare_webhooks.comparisons(50_000, base, new), base="c1ab994c", new="this tree")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert "backlog of 50,000, 2 workers: deliveries 4,000 7,000 /s 1.75 [1.50 … 2.00]" in lines
    assert "backlog of 50,000, 2 workers: CPU of the workers each 0.2 0.1 ms 0.50 [0.50 … 0.50]" in lines


def test_figure_that_the_base_did_not_use_has_no_ratio():
    comparison = Comparison("POST: CPU of PostgreSQL per request", "ms", base=[0.0, 0.0], new=[0.1, 0.2])
    assert comparison.line().endswith("none")
    assert comparison.document()["ratio"] is None
