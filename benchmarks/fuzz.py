"""Damaged files for every reader: how many end as they should, in a result or an error of one line.

    python benchmarks/fuzz.py --inputs 1000000 --out fuzz.json

