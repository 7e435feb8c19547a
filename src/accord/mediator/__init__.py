"""The mediator that runs a correlated policy and enforces its rules, and the referee that knows
where everyone is."""

from accord._lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, __file__)
