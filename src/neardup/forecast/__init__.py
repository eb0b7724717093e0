"""What a run would find and take, before it; never imported by a run."""
