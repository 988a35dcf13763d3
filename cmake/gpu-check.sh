#!/bin/sh
# On a machine with a GPU (Ubuntu 24.04, CUDA 13): builds the GPU tests and benchmarks, runs them, and
# leaves one JSON file of results.   sh cmake/gpu-check.sh [build] [test] [sanitize] [bench]
# Parts, in this order, each under ten minutes; none named: all. BUILD_DIR: the build folder (default
# build/gpu). OUT: where gpu-check.json goes (default the build folder). FILTER: which benchmarks (a regular expression).
set -eu
cd "$(dirname "$0")/.."
build=${BUILD_DIR:-build/gpu}
out=${OUT:-$build}
parts=${*:-build test sanitize bench}
for part in $parts; do
  case $part in build | test | sanitize | bench) ;; *) echo "usage: sh cmake/gpu-check.sh [build] [test] [sanitize] [bench]" >&2; exit 2 ;; esac
done
command -v nvidia-smi >/dev/null || { echo "no GPU here: nvidia-smi is missing" >&2; exit 1; }
mkdir -p "$build" "$out"
status=0
wants() { case " $parts " in *" $1 "*) return 0 ;; *) return 1 ;; esac; }
run() { # run NAME COMMAND...: its exit status goes into the results
  name=$1; shift
  "$@" || { status=1; echo "$name failed" >&2; echo "$name" >>"$build/failed"; }
}

: >"$build/failed"
if wants build; then
  cmake -S . -B "$build" -G Ninja -D CMAKE_BUILD_TYPE=Release -D DHISPARSE_CUDA=ON -D CMAKE_CUDA_ARCHITECTURES=90 \
    -D DHISPARSE_BUILD_EXAMPLES=OFF >"$build/configure.log" || { cat "$build/configure.log" >&2; exit 1; }
  ninja -C "$build" test-cuda bench-cuda_resolve bench-host_resolve
fi
if wants test; then
  run test "$build/tests/test-cuda"
fi
if wants sanitize; then
  for tool in memcheck racecheck synccheck initcheck; do
    run "$tool" compute-sanitizer --tool $tool --error-exitcode 1 "$build/tests/test-cuda" "[sanitize]"
  done
fi
if wants bench; then
  run bench "$build/bench/bench-cuda_resolve" --benchmark_filter="${FILTER:-.}" --benchmark_out="$build/bench.json" --benchmark_out_format=json
fi
[ -f "$build/bench.json" ] || echo null >"$build/bench.json"
{
  printf '{"device": "%s", "parts": "%s", "failed": "%s",\n"bench": ' "$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1)" "$parts" "$(tr '\n' ' ' <"$build/failed")"
  cat "$build/bench.json"
  printf '}\n'
} >"$out/gpu-check.json"
echo "results: $out/gpu-check.json"
exit $status
