"""The oracles of the tests: plain Python that shares nothing with what it checks.

Imported where they are used, so that drawing pages does not need the tests.
"""

from tests import reference
from tests.support.policies import as_reference, random_policy

__all__ = ["as_reference", "random_policy", "reference"]
