"""Live recognition: words while they are spoken."""
