"""Tables of int64 that the kernel reads and writes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Rows: TypeAlias = NDArray[np.int64]
"""Two-dimensional: a row for each thing, its columns named by constants."""
Cells: TypeAlias = NDArray[np.int64]
"""One-dimensional."""
Columns: TypeAlias = NDArray[np.int64]
"""Two-dimensional: a row for each column, one after another in memory."""
