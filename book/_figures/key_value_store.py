"""Diagramas."""

FIGURES = ()
