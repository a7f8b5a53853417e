"""What a step may be recognised by, best first: NVTX ranges, collectives, optimizer kernels, a kernel sequence."""
