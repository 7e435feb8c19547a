"""Linear programs: what happens when HiGHS gives up."""

from __future__ import annotations

import signal
from collections.abc import Callable

import highspy
import numpy as np
import pytest

from accord._signals import OutOfTime, check_time, stoppable
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


def hard_program(integral: bool = False) -> highspy.Highs:
    """A program that takes long enough to be asked about."""
    rng, n, m = np.random.default_rng(0), 300, 200
    program = LinearProgram()
    program.add_variables(n, 0.0, 1.0, rng.normal(size=n))
    matrix = rng.normal(size=(m, n)) * (rng.random((m, n)) < 0.2)
    rows, columns = np.nonzero(matrix)
    program.add_rows(m, -1.0, 1.0, triples(rows, columns, matrix[rows, columns]))
    return program.solver(None, np.ones(n, bool) if integral else None)


@pytest.mark.parametrize("integral", [False, True])
def test_a_program_ends_when_the_user_asks(integral: bool) -> None:
    highs, asked = hard_program(integral), []
    with stoppable(lambda: asked.append(1) or len(asked) > 3):
        with pytest.raises(OutOfTime):
            run_to_optimum(highs, "this program")
        assert len(asked) < 20
        with pytest.raises(OutOfTime):
            check_time()
    if not integral:
        run_to_optimum(highs, "this program")
        assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


def test_a_signal_ends_a_program_and_nothing_passes_through_it() -> None:
    """An exception inside of HiGHS would leave it unusable."""
    highs = hard_program()
    with stoppable(once_raising(signal.SIGINT)), pytest.raises(KeyboardInterrupt):
        run_to_optimum(highs, "this program")
    run_to_optimum(highs, "this program")
    assert highs.getModelStatus() == highspy.HighsModelStatus.kOptimal


def once_raising(number: int) -> Callable[[], bool]:
    """Send a signal to this process when asked for the first time."""
    sent: list[int] = []

    def asked() -> bool:
        if not sent:
            sent.append(number)
            signal.raise_signal(number)
        return False

    return asked
