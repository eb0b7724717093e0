"""Options that calls share, and how they become arguments."""
