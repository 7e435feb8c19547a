"""The oracles of the tests: plain Python that shares no code with what it checks.

They are imported where they are used, so that drawing the pages does not need the tests.
"""

from tests import reference
from tests.support.policies import as_reference, random_policy

__all__ = ["as_reference", "random_policy", "reference"]
