"""Where programs run beside this process's memory: `Files` of a folder, the workers of `Dask`."""

from cloakwork.cluster.hosts import Dask, Files

__all__ = ["Dask", "Files"]
