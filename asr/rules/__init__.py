"""Rules that say which of the words found were spoken, and what they are learned from."""
