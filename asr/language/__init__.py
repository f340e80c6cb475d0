"""What is known of a language: how its words are pronounced, and which sentences they make."""
