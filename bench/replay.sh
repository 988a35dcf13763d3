#!/bin/sh
# The three modes on every trace of a folder, at each speed:  sh replay.sh PROGRAM FOLDER [option...]
# Prints tokens/s of each mode, and adaptive's share of the better fixed one's.
set -eu
program=$1 folder=$2
shift 2
printf '%-26s %8s %10s %10s %10s %8s %8s %10s %6s\n' trace speed adaptive resident hot-only 'a/r' 'a/best' 'wait p95' lost
for trace in "$folder"/*.csv "$folder"/*.jsonl; do
  for speed in ${SPEEDS:-1 1000}; do
    "$program" --trace "$trace" --speed "$speed" --row-bytes 576 "$@" | awk -v trace="$(basename "$trace")" -v speed="$speed" '
      /^tokens\/s/ { a = $2; r = $3; h = $4 }
      /p95/ { wait = $(NF - 2) }
      /^lost rows/ { lost = $3 + $4 + $5 }
      /^budget violations/ { lost += $3 + $4 + $5 }
      END { best = r > h ? r : h
        printf "%-26s %8s %10.1f %10.1f %10.1f %8.4f %8.4f %10.3f %6d\n", trace, speed, a, r, h, a / r, a / best, wait, lost }'
  done
done
