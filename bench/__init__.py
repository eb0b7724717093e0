"""What measures neardup, and the notes that it measures with."""
