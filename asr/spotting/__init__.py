"""Words found among other sounds: their evidence, the rule that rejects them, and how both are learned."""
