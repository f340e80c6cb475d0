"""See DESIGN."""
