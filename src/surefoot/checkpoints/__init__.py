"""What a checkpoint is, from its own files, before any weight is downloaded."""
