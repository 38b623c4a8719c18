"""Trains a TensorFlow Lite model from a labelled dataset of images."""
