"""Adding up what was measured."""

from cloakwork.runtime.profile import Measurement, Profile, Total


def test_totals_by_kind_the_longest_first() -> None:
    profile = Profile(
        [
            Measurement(1, "add", start=0.0, seconds=0.25, thread=0, nbytes=8),
            Measurement(2, "mul", start=0.25, seconds=1.0, thread=0, nbytes=12),
            Measurement(3, "add", start=0.25, seconds=0.5, thread=1, nbytes=16),
        ]
    )
    assert list(profile.totals().items()) == [
        ("mul", Total(1, 1.0, 12)),
        ("add", Total(2, 0.75, 24)),
    ]


def test_nothing_run_has_no_totals() -> None:
    assert not Profile().totals()
