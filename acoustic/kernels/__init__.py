"""Kernels, and least squares on columns of their Gram matrices."""
