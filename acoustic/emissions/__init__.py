"""Emission models: from frames to scores of HMM states; how they are trained, adapted and kept in files."""
