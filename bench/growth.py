#!/usr/bin/env python3
"""Draws how a resolve without misses grows: python3 bench/growth.py FILE.json OUT.svg

FILE.json: what bench-cuda_resolve --benchmark_out=FILE.json has written (or gpu-check.json). Needs matplotlib."""
import json
import sys

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt


def medians(benchmarks, prefix):
    """{number in the name: median in microseconds} of the benchmarks growth/<prefix><number>."""
    found = {}
    for one in benchmarks:
        name = one["name"].split("/iterations")[0]
        if name.startswith("growth/" + prefix):
            digits = name.split("R:")[1] if prefix == "requests" else name.split("_")[1].split("/")[0]
            found[int(digits)] = one["median_us"]
    return sorted(found.items())


def label(n):
    return f"{n >> 20} M" if n >= 1 << 20 else f"{n >> 10} K" if n >= 1024 else str(n)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__.splitlines()[0])
    with open(sys.argv[1]) as file:
        benchmarks = json.load(file)
    benchmarks = benchmarks.get("resolve", benchmarks)["benchmarks"]
    panels = [("requests", "requests R (history 32 K, B = 4 K)"), ("history_", "positions of history (R = 8, B = 4 K)"), ("B_", "hot rows B (R = 32, history 32 K)")]
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), sharey=True, constrained_layout=True)
    for axis, (prefix, title) in zip(axes, panels):
        points = medians(benchmarks, prefix)
        if not points:
            sys.exit(f"{sys.argv[1]} has no growth/{prefix}*")
        x, y = zip(*points)
        axis.plot(x, y, "o-", color="#1f6f8b", linewidth=2)
        for at, value in points:
            axis.annotate(f"{value:.1f}", (at, value), textcoords="offset points", xytext=(0, 7), ha="center", fontsize=8)
        axis.set_xscale("log", base=2)
        axis.set_xticks(x, [label(n) for n in x])
        axis.set_xlabel(title)
        axis.set_ylim(0, 17)
        axis.grid(axis="y", alpha=0.3)
    axes[0].set_ylabel("µs a resolve")
    figure.suptitle("A resolve of k = 2,048 rows, every one hot, does not grow with the history or the hot cache")
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()
