"""What a finished run did, missed and would do with other settings; never imported by a run."""
