"""The stages in order: documents to clusters, events on the way, files at the end."""
