"""Run the stages: on one machine, with threads, bounded memory and resume."""
