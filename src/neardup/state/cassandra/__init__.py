"""Band keys in Apache Cassandra; imported when the URL of one is given."""
