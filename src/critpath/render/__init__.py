"""Renderings of the report; they compute nothing and know only the model."""
