"""What `neardup.Index` does: the half that reads, and the half that writes."""
