"""What an installed engine can do, from its own files and its own argument resolution."""
