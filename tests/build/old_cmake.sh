#!/bin/sh
# sh old_cmake.sh SOURCE_DIR: the build demands a CMake that reads "native" right (3.24), before anything
# else, and the quick start says so where an old one comes first in PATH.
set -eu
minimum=$(sed -n '1s/^cmake_minimum_required(VERSION \([0-9.]*\).*/\1/p' "$1/CMakeLists.txt")
[ "$(printf '3.24\n%s\n' "$minimum" | sort -V | head -n 1)" = 3.24 ] ||
  { echo "minimum: $minimum"; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
printf '#!/bin/sh\necho "cmake version 3.22.1"\n' >"$work/cmake"
chmod +x "$work/cmake"
if out=$(PATH="$work:$PATH" sh "$1/cmake/quickstart.sh" test 2>&1); then
  echo "not refused"
  exit 1
fi
[ "$out" = "quickstart: needs CMake 3.25 or newer, found 3.22.1" ] || { echo "$out"; exit 1; }
