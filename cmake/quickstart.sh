#!/bin/sh
# Sets up, builds and runs, on Debian 12 / Ubuntu 24.04 or newer:
#   sh cmake/quickstart.sh demo [options]   builds dhisparse-decode and runs it with these options
#   sh cmake/quickstart.sh test             builds everything, runs the tests, counts them
# Variables: BUILD_DIR (default build/quickstart), CUDA (AUTO, ON or OFF; the demo has OFF unless it is
# asked for --backend cuda), WERROR (ON or OFF), JOBS.
set -eu
usage() { echo "usage: sh cmake/quickstart.sh demo [options of dhisparse-decode] | test" >&2; exit 2; }
what=${1:-}
case $what in
  demo)
    shift
    case " $* " in
      *" --backend cuda "* | *" --backend=cuda "*) ;;
      *) CUDA=${CUDA:-OFF} ;;
    esac
    ;;
  test) [ $# = 1 ] || usage ;;
  *) usage ;;
esac
root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD_DIR:-$root/build/quickstart}
jobs=${JOBS:-$(nproc)}
say() { echo "$*" >&2; } # stdout is the demo's own
fail() { say "quickstart: $*"; exit 1; }

# The older of 3.25 and the one that is here must be 3.25. Where there is none, apt-get brings one.
check_cmake() {
  version=$(cmake --version 2>/dev/null | sed -n '1s/[^0-9]*\([0-9.]*\).*/\1/p')
  [ "$(printf '3.25\n%s\n' "${version:-3.25}" | sort -V | head -n 1)" = 3.25 ] ||
    fail "needs CMake 3.25 or newer, found $version"
}
check_cmake

# ---- What is missing: a tool by its command, a library by its header ----------
missing=
need() { missing="$missing $1"; }
header() { echo "#include <$1>" | c++ -std=c++20 -E -x c++ - >/dev/null 2>&1; }
command -v c++ >/dev/null || need g++
command -v cmake >/dev/null || need cmake
command -v ninja >/dev/null || command -v make >/dev/null || need ninja-build
header fmt/core.h || need libfmt-dev
header nlohmann/json.hpp || need nlohmann-json3-dev
header CLI/CLI.hpp || need libcli11-dev
if [ "$what" = test ]; then
  header catch2/catch_test_macros.hpp || header catch2/catch.hpp || need catch2
fi

if [ -n "$missing" ]; then
  command -v apt-get >/dev/null || fail "missing:$missing (and there is no apt-get here to install them)"
  as_root=
  if [ "$(id -u)" != 0 ]; then
    if sudo -n true 2>/dev/null || { [ -t 0 ] && command -v sudo >/dev/null; }; then
      as_root=sudo
    else
      fail "missing:$missing. Run as root: apt-get install --no-install-recommends$missing"
    fi
  fi
  say "Installing with apt-get:$missing"
  log=$(mktemp)
  $as_root apt-get -qq update >"$log" 2>&1 || say "apt-get update failed in part: trying with what it has"
  # Another apt-get may hold the lock for a while.
  # shellcheck disable=SC2086
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=300 install -y \
    --no-install-recommends $missing >>"$log" 2>&1 || { cat "$log" >&2; fail "could not install:$missing"; }
  rm -f "$log"
fi

check_cmake

# ---- nvcc is often installed but not on PATH -----------------------------------
if ! command -v nvcc >/dev/null && [ -x /usr/local/cuda/bin/nvcc ]; then
  PATH=$PATH:/usr/local/cuda/bin
fi
command -v nvcc >/dev/null || say "No nvcc: building the host backend only."

# ---- Configure and build ---------------------------------------------------------
tests=OFF
[ "$what" = test ] && tests=ON
build=$build-$what
set_up() {
  generator=
  command -v ninja >/dev/null && generator=Ninja
  [ -f "$build/CMakeCache.txt" ] && generator= # it cannot change in a folder that is there
  cmake -S "$root" -B "$build" ${generator:+-G "$generator"} -D CMAKE_BUILD_TYPE=Release \
    -D DHISPARSE_CUDA="${CUDA:-AUTO}" -D CMAKE_CUDA_ARCHITECTURES=90 -D DHISPARSE_BUILD_EXAMPLES=ON \
    -D DHISPARSE_BUILD_TESTS=$tests -D DHISPARSE_BUILD_BENCH=OFF -D DHISPARSE_WERROR="${WERROR:-OFF}"
}
say "Building in $build"
set_up >&2 || fail "cannot configure: see above"
if [ "$what" = demo ]; then
  cmake --build "$build" --parallel "$jobs" --target dhisparse-decode >&2 || fail "cannot build: see above"
  exec "$build/examples/dhisparse-decode" "$@"
fi
cmake --build "$build" --parallel "$jobs" >&2 || fail "cannot build: see above"

# ---- Test, and one last line that counts -----------------------------------------
log=$build/ctest.log
status=0
ctest --test-dir "$build" --output-on-failure --parallel "$jobs" -LE slow --output-log "$log" || status=$?
awk '
  /^ *[0-9]+\/[0-9]+ Test +#[0-9]+:/ {
    if (/\*\*\*Skipped/) skipped++
    else if (/   Passed /) passed++
    else failed++
  }
  END {
    printf "%d passed, %d failed", passed, failed
    if (skipped) printf ", %d skipped", skipped
    print ""
    exit failed || !passed
  }' "$log" || status=1
exit $status
