"""The public names of ``accord.serve`` and the modules they live in."""

from accord.serve.client import SeatClient as SeatClient
from accord.serve.client import Situation as Situation
from accord.serve.client import obey as obey
