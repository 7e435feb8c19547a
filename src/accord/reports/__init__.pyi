"""The public names of ``accord.reports`` and the modules they live in."""

from accord.reports.write import Report as Report
