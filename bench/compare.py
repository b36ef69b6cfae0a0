#!/usr/bin/env python3
"""Measures Croft beside PyTorch on the same machine, in one run, and keeps every sample.

    bench/compare.py --device cuda --tier gates --out DIR          66 cases of the six row operators
    bench/compare.py --device cuda --smoke --out DIR               three cases, to see that it works
    bench/compare.py --device cuda --tier transposes --out DIR     16 transposes of batches
    bench/compare.py --device cuda FILE.croft --peer PEER.py --out DIR
    bench/compare.py --device cuda --random-shapes 7 --out DIR --budget 300
    bench/compare.py --device cuda --random-shapes 7 --out DIR --resume
    bench/compare.py --merge DIR DIR --out DIR                     one run of several

compare/report.py makes tables and plots of DIR/raw.jsonl; compare/raw.py says what is in it. How a
time is measured is said in compare/measuring.py and compare/cuda.py, whom it is compared with in
compare/arms.py.
"""
import sys

from compare.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
