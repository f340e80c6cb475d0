"""Where blocks of work are computed: in threads of this process, or by a Dask cluster."""
