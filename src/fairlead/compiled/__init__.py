"""The compiled engine: the same rules over int64 arrays, compiled by Numba."""
