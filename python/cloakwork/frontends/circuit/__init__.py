"""Python functions over encrypted integers, staged by running them on symbols."""
