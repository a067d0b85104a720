"""From rows to decisions: cut into blocks, count classes, work out each block's start, route."""
