"""A harness that looks for inputs that break neardup; see fuzz/README.md."""
