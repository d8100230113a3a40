"""What a machine is, by asking it (here or over SSH), or from the catalog of known ones."""
