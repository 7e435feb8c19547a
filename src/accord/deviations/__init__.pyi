"""The public names of ``accord.deviations`` and the modules they live in."""

from accord.deviations.counting import count_rechistories as count_rechistories
from accord.deviations.modification import Modification as Modification
from accord.deviations.rechistory import RechistoryTree as RechistoryTree
