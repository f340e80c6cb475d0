"""What a training will cost, said before it begins."""
