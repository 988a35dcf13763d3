#!/usr/bin/env python3
"""Bytes fetched from host a generated token, K = 8 over K = 1, on the tiny model: python3 bench/host_bytes.py DHISPARSE_DECODE

Runs the program on eight prompts of the story, 256 tokens each, with small hot caches and both schedules, every output
compared with plain resident decoding (exit 1 where one differs). Prints the ratio of the sums, and the smallest and largest of a prompt."""
import json
import subprocess
import sys

prompts = [(0, 6000), (500, 6000), (1000, 6000), (0, 2402), (2310, 594), (0, 6129), (3000, 4000), (0, 4000)]  # first byte, bytes


def bytes_per_token(program, prompt, hot_rows, k, schedule):
    offset, length = prompt
    arguments = ["--offset", offset, "--length", length, "--tokens", 256, "--hot-rows", hot_rows, "--speculate", k, "--schedule", schedule, "--json"]
    out = json.loads(subprocess.run([program, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout)
    if not out.get("exact"):
        sys.exit(f"{prompt} with K = {k}: {out.get('error', 'output differs')}")
    return out["host_bytes_per_token"]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print("     B  schedule      K=8/K=1  smallest  largest")
    for hot_rows in 512, 1024:
        plain = [bytes_per_token(sys.argv[1], prompt, hot_rows, 1, "fixed") for prompt in prompts]
        for schedule in "fixed", "confidence":
            rounds = [bytes_per_token(sys.argv[1], prompt, hot_rows, 8, schedule) for prompt in prompts]
            ratios = [k8 / k1 for k8, k1 in zip(rounds, plain)]
            print(f"{hot_rows:6}  {schedule:10} {sum(rounds) / sum(plain):10.3f} {min(ratios):9.3f} {max(ratios):8.3f}", flush=True)


if __name__ == "__main__":
    main()
