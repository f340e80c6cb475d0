"""The directories of trained models, and the tuning of the weights of their decoders."""
