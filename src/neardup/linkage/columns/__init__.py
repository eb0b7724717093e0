"""Which column of each file a field is, and the fields of presets."""
