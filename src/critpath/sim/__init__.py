"""A simulator of distributed GPU training that writes nsys-shaped exports with the truth beside them."""
