"""Benchmarks: `python -m benchmarks` prints ratios against the peers and the limit."""
