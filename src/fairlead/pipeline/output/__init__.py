"""From decisions to a folder that is whole or not there."""
