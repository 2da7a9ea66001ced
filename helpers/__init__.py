"""The small package behind the notebooks of Strides to Streams."""
