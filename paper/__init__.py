"""The paper, claim by claim: Song, Mei, Bai 2022 against measurements.

Each ``claimN_*.py`` says what the paper claims, which tasks measure it, how to draw what they found
and whether it holds. ``frame.py`` runs the tasks, keeps what they found in ``data/`` and writes the
pages in ``docs/paper``.

    python -m paper                  redraw all pages from the data that is kept
    python -m paper --full [N ...]   compute everything anew, or the claims N, then redraw
"""
