"""What changes with the world, as data with sources: names, metrics, peaks, messages, advice."""
