"""The pieces of bench/compare.py: cases, arms, measuring, the raw file, and its readers."""
