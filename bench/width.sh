#!/bin/sh
# Fixed widths, the published schedule and the online one on every trace of a folder with its acceptance.json, over load:
#   sh width.sh PROGRAM FOLDER [OUT_FOLDER [option...]]
# Prints a table for each trace; with OUT_FOLDER draws TRACE.svg there. SPEEDS: arrivals, times as fast as in the trace.
set -eu
program=$1 folder=$2
out=${3:-}
[ $# -lt 3 ] || shift
shift 2
for trace in "$folder"/*.csv "$folder"/*.jsonl; do
  name=$(basename "$trace")
  echo "== $name"
  [ -z "$out" ] || set -- "$@" --plot "$out/${name%.*}.svg"
  "$program" --trace "$trace" --row-bytes 576 --mode adaptive --acceptance "$folder/acceptance.json" --widths "${SPEEDS:-3,10,30,100,1000}" "$@" |
    awk '/^ *speed/ { on = 1 } on'
done
