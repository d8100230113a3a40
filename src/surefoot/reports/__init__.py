"""What people look at: terminal, HTML, JSON; shows results, does no work of its own."""
