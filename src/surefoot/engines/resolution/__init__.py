"""The part that runs inside an engine's own Python and lets it resolve a command line, without a server."""
