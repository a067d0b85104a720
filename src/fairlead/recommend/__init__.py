"""Recommend: search for the clusters that meet a target at the least cost, on recorded traffic."""
