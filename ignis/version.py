"""The version of this source, read by the packaging too."""

VERSION = "0.1.0"
