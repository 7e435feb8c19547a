"""The paper, claim by claim: Song, Mei, Bai 2022 against measurements.

Each ``claimN_*.py`` states what the paper claims, lists the tasks that measure it, draws the
results and decides whether the claim holds. ``frame.py`` runs the tasks, keeps their results in
``data/`` and writes the pages in ``docs/paper``.

    python -m paper                  redraw all pages from the stored data
    python -m paper --full [N ...]   measure everything, or the claims N, again, then redraw
"""
