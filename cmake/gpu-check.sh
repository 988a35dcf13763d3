#!/bin/sh
# On a machine with a GPU (Ubuntu 24.04, CUDA 13): builds the GPU tests and benchmarks, runs them, and
# leaves one JSON file of results.   sh cmake/gpu-check.sh [build] [test] [sanitize] [decode] [bench] [sm80] [archs]
# Parts, in this order, each under ten minutes; none named: all but the last two.
#   decode  the decode and engine programs' GPU tests and one run; left out where CLI11 is missing
#   sm80    the GPU tests again, compiled for sm_80 (no clusters, no bulk copies) and run on this GPU
#   archs   compiles everything for every architecture whose code differs; runs nothing
# BUILD_DIR: the build folder (default build/gpu; sm80 and archs put -sm80 and -all behind it). OUT: where
# gpu-check.json goes (default the build folder). FILTER: which benchmarks (a regular expression).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD_DIR:-build/gpu}
out=${OUT:-$build}
parts=${*:-build test sanitize decode bench}
for part in $parts; do
  case $part in
    build | test | sanitize | decode | bench | sm80 | archs) ;;
    *) echo "usage: sh cmake/gpu-check.sh [build] [test] [sanitize] [decode] [bench] [sm80] [archs]" >&2; exit 2 ;;
  esac
done
wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
[ "$parts" = archs ] || command -v nvidia-smi >/dev/null || { echo "no GPU here: nvidia-smi is missing" >&2; exit 1; }
mkdir -p "$build" "$out"
status=0
run() { # run NAME COMMAND...: its exit status goes into the results
  name=$1; shift
  "$@" || { status=1; echo "$name failed" >&2; echo "$name" >>"$build/failed"; }
}
configure() { # configure FOLDER OPTIONS...
  folder=$1; shift
  mkdir -p "$folder"
  cmake -S . -B "$folder" -G Ninja -D CMAKE_BUILD_TYPE=Release -D DHISPARSE_CUDA=ON "$@" >"$folder/configure.log" || { cat "$folder/configure.log" >&2; exit 1; }
}
examples=OFF
echo '#include <CLI/CLI.hpp>' | c++ -std=c++20 -E -x c++ - >/dev/null 2>&1 && examples=ON

: >"$build/failed"
if wants build; then
  configure "$build" -D CMAKE_CUDA_ARCHITECTURES=90 -D DHISPARSE_BUILD_EXAMPLES=$examples
  ninja -C "$build" test-cuda bench-cuda_resolve bench-cuda_round bench-cuda_residency bench-host_resolve
  [ $examples = OFF ] || ninja -C "$build" dhisparse-decode test-decode dhisparse-engine test-engine
fi
if wants test; then
  run test "$build/tests/test-cuda"
fi
if wants sanitize; then
  for tool in memcheck racecheck synccheck initcheck; do
    run "$tool" compute-sanitizer --tool $tool --error-exitcode 1 "$build/tests/test-cuda" "[sanitize]"
  done
fi
echo null >"$build/decode.json"
if wants decode && [ $examples = ON ]; then
  run decode "$build/tests/test-decode" "[gpu]"
  run engine "$build/tests/test-engine" "[gpu]"
  run decode_run "$build/examples/dhisparse-decode" --backend cuda --verify --json >"$build/decode.json"
fi
if wants bench; then
  for name in resolve round residency; do
    run "bench_$name" "$build/bench/bench-cuda_$name" --benchmark_filter="${FILTER:-.}" --benchmark_out="$build/bench-$name.json" --benchmark_out_format=json
  done
fi
if wants sm80; then
  configure "$build-sm80" -D CMAKE_CUDA_ARCHITECTURES=80-virtual -D DHISPARSE_BUILD_EXAMPLES=OFF -D DHISPARSE_BUILD_BENCH=OFF
  ninja -C "$build-sm80" test-cuda
  run sm80 "$build-sm80/tests/test-cuda"
fi
if wants archs; then # as the preset cuda-all
  configure "$build-all" -D "CMAKE_CUDA_ARCHITECTURES=80-real;90-real;100a-real;120-real" -D DHISPARSE_BUILD_EXAMPLES=OFF -D DHISPARSE_BUILD_BENCH=OFF
  run archs ninja -C "$build-all" dhisparse_cuda test-cuda
fi
[ -s "$build/decode.json" ] || echo null >"$build/decode.json"
device=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 || true)
{
  printf '{"device": "%s", "parts": "%s", "failed": "%s",\n"decode": ' "$device" "$parts" "$(tr '\n' ' ' <"$build/failed")"
  cat "$build/decode.json"
  for name in resolve round residency; do
    printf ',\n"%s": ' "$name"
    if wants bench; then cat "$build/bench-$name.json"; else echo null; fi
  done
  printf '}\n'
} >"$out/gpu-check.json"
echo "results: $out/gpu-check.json"
exit $status
