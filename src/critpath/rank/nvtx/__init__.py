"""NVTX ranges: which device work was launched inside each, and where on the host something happened."""
