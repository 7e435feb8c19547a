"""The public names of ``accord.exports`` and the modules they live in."""

from accord.exports.frames import comparison_frame as comparison_frame
from accord.exports.trackers import MLflowTracker as MLflowTracker
from accord.exports.trackers import TensorBoardTracker as TensorBoardTracker
from accord.exports.trackers import Tracker as Tracker
from accord.exports.trackers import WandbTracker as WandbTracker
