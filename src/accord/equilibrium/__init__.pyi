"""The public names of ``accord.equilibrium`` and the modules they live in."""

from accord.equilibrium.device import Device as Device
from accord.equilibrium.gap import RegretMeter as RegretMeter
