"""The public names of ``accord.mediator`` and the modules they live in."""

from accord.mediator.timing import Timing as Timing
from accord.mediator.timing import TimingWarning as TimingWarning
