"""What all packages share: array types, errors, checks of options, blocks of work, whole files."""
