"""The public names of ``accord.learning`` and the modules they live in."""

from accord.learning.balanced_kefr import BalancedKEFR as BalancedKEFR
from accord.learning.kefr import KEFR as KEFR
from accord.learning.theory.plan import Plan as Plan
from accord.learning.whole_plays import WholePlayKEFR as WholePlayKEFR
