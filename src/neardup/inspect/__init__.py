"""Questions to a finished run: explain, audit, evaluate, recluster; never imported by a run."""
