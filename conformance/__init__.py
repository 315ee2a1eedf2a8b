"""Conformance: the operators against PyTorch's own database of them, by a harness that stands outside of this repository."""
