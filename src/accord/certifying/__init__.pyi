"""The public names of ``accord.certifying`` and the modules they live in."""

from accord.certifying.certificate import Certificate as Certificate
