"""Print durations, and compare each with an undisturbed run of the same test.

Other assertions check that nothing is lost or duplicated, however slow the machine is.
"""

BOUND = 10.0  # times the undisturbed duration
LEAST = 0.1  # seconds: shorter undisturbed runs are too inaccurate to compare with


def assert_duration(
    what: str, seconds: float, *, undisturbed: float, by_design: float = 0.0, bound: float = BOUND
) -> None:
    """Print a duration, and compare it with that of an undisturbed run on this machine.

    `by_design` are the seconds that the service waits on any machine: for a lease to end, or for the next poll.
    """
    expected = by_design + max(undisturbed, LEAST)
    ratio = seconds / expected
    print(
        f"{what}: {seconds:.2f} s, {ratio:.2f} of {expected:.2f} s "
        f"({undisturbed:.2f} s undisturbed, {by_design:.2f} s by design)"
    )
    assert ratio <= bound, f"{what} took {ratio:.1f} times as long as undisturbed"


def p95(values: list[float]) -> float:
    return sorted(values)[int(len(values) * 0.95)]
