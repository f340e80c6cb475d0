"""One discriminant for each pair of classes: its training, its calibration, the coupling of all."""
