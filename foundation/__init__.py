"""What all rooms share: array types, errors, checks of options, work on many threads."""
