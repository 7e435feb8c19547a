"""Linear programs: what happens when HiGHS gives up."""

from __future__ import annotations

import highspy
import pytest

from accord.errors import NumericalError
from accord.optimal.linear import RETRIES, LinearProgram, run, run_to_optimum, triples


class Stubborn:
    """HiGHS that reports no optimum until it runs with certain settings."""

    def __init__(self, needs: dict[str, object] | None) -> None:
        program = LinearProgram()
        program.add_variables(2, 0.0, 1.0, [-1.0, -2.0])
        program.add_rows(1, -1.0, 1.5, triples([0, 0], [0, 1], 1.0))
        self.highs, self.needs, self.solved, self.runs = program.solver(), needs, False, 0

    def run(self) -> None:
        self.highs.run()
        self.runs += 1
        self.solved = self.needs is not None and all(
            self.highs.getOptionValue(name)[1] == value for name, value in self.needs.items()
        )

    def getModelStatus(self) -> highspy.HighsModelStatus:
        return self.highs.getModelStatus() if self.solved else highspy.HighsModelStatus.kUnknown

    def __getattr__(self, name: str) -> object:
        return getattr(self.highs, name)


@pytest.mark.parametrize("settings", RETRIES[1:])
def test_other_settings_are_tried(settings):
    highs = Stubborn(settings)
    usual = {name: highs.getOptionValue(name)[1] for name in settings}
    assert usual != settings
    assert run(highs)
    assert highs.getObjectiveValue() == pytest.approx(-2.5)
    assert {name: highs.getOptionValue(name)[1] for name in settings} == usual


def test_an_optimum_needs_no_second_run():
    highs = Stubborn({})
    run_to_optimum(highs, "the program")
    assert highs.runs == 1


def test_a_solver_that_always_fails_is_an_error():
    highs = Stubborn(None)
    with pytest.raises(NumericalError, match="the program must have an optimum, but HiGHS reports"):
        run_to_optimum(highs, "the program")
    assert highs.runs == 1 + len(RETRIES)
