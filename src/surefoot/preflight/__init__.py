"""Go or no-go: checkpoint, drafter, machine and engine judged together, with budget, reasons and command."""
