"""Measures what a model of some shape does on this device, through the engine that serves: the bench command."""
