"""A page of copied passages, for any browser, and one document in the terminal."""
