"""The tests are a package, or tests/cuda would be known as `cuda`, as the sources of the card are."""
