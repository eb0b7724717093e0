"""Record linkage: several short fields, candidates by banding, a decision by a finer similarity."""
