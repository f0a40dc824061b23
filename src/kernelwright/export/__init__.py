"""Exporters: packages, single files, launch configs and tables that other programs read."""
