"""The public names of ``accord.runs`` and the modules they live in."""

from accord.optimal.binding import BindingConstraint as BindingConstraint
from accord.runs.checkpoint import Checkpoint as Checkpoint
from accord.runs.checkpoint import RegionProgress as RegionProgress
from accord.runs.curve import Curve as Curve
from accord.runs.curve import CurvePoint as CurvePoint
from accord.runs.curve import CurveSeries as CurveSeries
from accord.runs.region import PayoffPolygon as PayoffPolygon
from accord.runs.region import Region as Region
from accord.runs.region import RegionVertex as RegionVertex
from accord.runs.result import Learned as Learned
from accord.runs.result import Optimum as Optimum
from accord.runs.result import Solution as Solution
