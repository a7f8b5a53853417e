"""critpath: a critical-path diagnosis of distributed GPU training from Nsight Systems exports."""

__version__ = "0.1.0.dev0"
