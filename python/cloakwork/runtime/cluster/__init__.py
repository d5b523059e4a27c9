"""Where programs run beside this process's memory: `Files` of a folder, the workers of `Dask`."""

from cloakwork.runtime.cluster.hosts import Dask, Files

__all__ = ["Dask", "Files"]
