"""The public names of ``accord.game`` and the modules they live in."""

from accord._arrays import NO_INFOSET as NO_INFOSET
from accord._arrays import NO_NODE as NO_NODE
