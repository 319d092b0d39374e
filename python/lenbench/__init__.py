"""The Python side of lenbench: adapters that let `lenbench run 'exec:...'` measure a model written in Python."""
