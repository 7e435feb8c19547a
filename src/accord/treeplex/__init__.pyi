"""The public names of ``accord.treeplex`` and the modules they live in."""

from accord.treeplex.form import SequenceForm as SequenceForm
from accord.treeplex.form import sequence_form as sequence_form
from accord.treeplex.leaves import LeafTable as LeafTable
from accord.treeplex.strategy import random_behavior as random_behavior
from accord.treeplex.treeplex import Treeplex as Treeplex
from accord.treeplex.values import immediate_loss as immediate_loss
from accord.treeplex.values import joint_reach as joint_reach
