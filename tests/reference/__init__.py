"""The paper in plain Python: slow reference functions, the oracles of every kernel.

Each module is the twin of a part of the package and is written from Song, Mei, Bai 2022 as
literally as its definitions allow, with lists, dictionaries and loops. The twins share no code with
the package and read only the attributes of a ``Game``. Labels of the paper's LaTeX source mark the
definitions and equations in use, so that a module can be read beside the paper. Tests say
``from tests import reference`` and call ``reference.efce_gap(...)``.

Conventions. ``i`` is a player, ``x`` one of their infosets (numbered as in ``Game``), ``a`` an
action there, ``r`` a recommended action, ``b`` a rechistory. A *sequence* is a pair (x, a);
sequence 0 is the empty one. The layer ``h`` of an infoset is one more than the number of the
player's own earlier decisions, so uneven trees need no special case. The horizon ``H`` is a
player's last layer, and ``K`` is read as min(K, H). Action sets may differ between infosets.

A *behavior* of a player is a list over their sequences: entry 0 is 1, and the entry
``sequence(game, i, x, a)`` is pi_i(a | x). ``behaviors``, one per player, are a product policy. A
*correlated policy* is a list of ``(weight, behaviors)``. :mod:`tests.reference.types` lists all
types.

Losses are normalized: over a whole play player i loses (best_i - u) / (best_i - worst_i), or 0 if
their payoff is constant. Gaps are in payoff units, and nothing is clamped at 0.

The paper is corrected in three places. A Type-II rechistory ends with its K-th mismatch,
``a_{h'} != b_{h'}``; for K = 0 there is one at every infoset, the empty one. The second sum of
Lemma D.1 runs over b_{1:h-1}: over b_{1:h} it would count everything A times. And the opponents'
reach of a state, Equation (16), contains only their actions before that state.
"""
# ruff: noqa: F403

from tests.reference.bandit import *
from tests.reference.exact import *
from tests.reference.fixed_point import *
from tests.reference.game import *
from tests.reference.gaps import *
from tests.reference.kefr import *
from tests.reference.minimizers import *
from tests.reference.modifications import *
from tests.reference.normal_form import *
from tests.reference.notions import *
from tests.reference.optimum import *
from tests.reference.plans import *
from tests.reference.policies import *
from tests.reference.rechistories import *
from tests.reference.regret import *
from tests.reference.types import *
from tests.reference.values import *
from tests.reference.whole_plays import *
