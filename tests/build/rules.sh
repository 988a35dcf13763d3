#!/bin/sh
# What a compiler does not check about headers:  sh rules.sh RULE INCLUDE_DIR
# RULE: layers (include direction), kernels (no __global__ that two files would define), namespaces
# (no using namespace), umbrella, dependencies. Prints each violation as file:line: text, and then
# exits 1. With "selftest" as RULE it proves on planted violations that each rule finds its own.
# shellcheck disable=SC2016 # the quoted texts are awk programs
set -eu
rule=$1

# Lines of code: comments out, so that they may name what code must not use.
code() { sed -e 's,//.*,,' -e 's,/\*.*\*/,,g' "$1"; }

# Headers to look at, relative to the include folder.
headers() { find dhisparse -name '*.hpp' -o -name '*.cuh' -o -name '*.ipp' | sort; }

each() { # each AWK_PROGRAM: runs it on every header's code; it prints what is wrong
  headers | while read -r file; do
    code "$file" | awk -v file="$file" "$1"
  done
}

# The layers of DESIGN.md, section 8. A folder may include itself and lower layers, and others of its
# layer where that is no component of its own (layer 2 are components: each can be taken alone).
layers='
BEGIN {
  split("core=0 layout=1 memory=1 copy=1 policy=1 metrics=1 pool=2 residency=2 cache=2 tail=2 " \
        "staging=2 draft=2 durable=2 resolve=3 round=3 ledger=3 admission=3 executor=3 plan=3", list)
  for (i in list) { split(list[i], pair, "="); layer[pair[1]] = pair[2] }
  own = folder_of(file)
}
function folder_of(path,  part, n) { # "": directly in dhisparse
  n = split(path, part, "/")
  return n > 2 ? part[2] : ""
}
function layer_of(folder) {
  if (folder == "") return 4
  if (folder in layer) return layer[folder]
  print file ": folder " folder " is in no layer"
  return 9
}
/^[ \t]*#[ \t]*include[ \t]*"/ { print file ":" FNR ": include with <dhisparse/...>: " $0 }
match($0, /^[ \t]*#[ \t]*include[ \t]*[<"]dhisparse\/[^>"]*/) {
  path = substr($0, RSTART, RLENGTH); sub(/.*[<"]/, "", path)
  other = folder_of(path)
  if (other == own) next
  from = layer_of(own); to = layer_of(other)
  if (to > from || (to == from && from == 2))
    print file ":" FNR ": layer " from " includes layer " to ": " path
}'

# A kernel in a header is a template, static, or in an unnamed namespace: else two files define it.
kernels='
/namespace[ \t]*\{/ { unnamed = 1 }
{ if ($0 ~ /^[ \t]*$/) next }
/__global__/ {
  text = before " " $0
  sub(/__global__.*/, "", text)
  if (text !~ /(^|[^a-z_])(static|template)([^a-z_]|$)/ && !unnamed || text ~ /template[ \t]*<[ \t]*>/)
    print file ":" FNR ": kernel without static or real template parameters: " $0
}
{ before = ($0 ~ /[;}][ \t]*$/) ? "" : before " " $0 }'

namespaces='/(^|[^a-z_])using[ \t]+namespace([^a-z_]|$)/ { print file ":" FNR ": " $0 }'

# Headers named dhisparse.* collect others: they only include, and nobody includes them.
umbrella='
file ~ /^dhisparse\/dhisparse\./ && !/^[ \t]*(#[ \t]*(pragma once|include|if|ifdef|ifndef|endif|else).*)?$/ {
  print file ":" FNR ": an umbrella only includes: " $0 }
/#[ \t]*include[ \t]*[<"]dhisparse\/dhisparse\./ { print file ":" FNR ": includes an umbrella: " $0 }'

# .hpp needs a C++ compiler alone; programs and src/ alone use fmt, JSON and command lines; Thrust in
# no header.
dependencies='
/#[ \t]*include[ \t]*[<"](fmt|nlohmann|CLI|catch2|benchmark|thrust)\// { print file ":" FNR ": " $0 }
file !~ /\.cuh$/ && /#[ \t]*include[ \t]*[<"](cuda|cub|cooperative_groups|[^>"]*\.cuh)/ {
  print file ":" FNR ": CUDA in a header for C++: " $0 }
file ~ /^dhisparse\/(ledger|admission|plan)\/.*\.cuh$/ && FNR == 1 { print file ": no CUDA in this folder" }'

check() { # check RULE: what it finds, in the current folder
  case $1 in
    layers) each "$layers" ;;
    kernels) each "$kernels" ;;
    namespaces) each "$namespaces" ;;
    umbrella) each "$umbrella" ;;
    dependencies) each "$dependencies" ;;
    *) echo "no rule $1" >&2; exit 2 ;;
  esac
}

if [ "$rule" != selftest ]; then
  cd "$2"
  found=$(check "$rule")
  [ -z "$found" ] || { echo "$found"; exit 1; }
  exit 0
fi

# ---- Self-test: good code is let through, each planted violation is found ------------
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
n_wrong=0
try() { # try RULE good|bad FILE TEXT
  rm -rf dhisparse
  mkdir -p "dhisparse/$(dirname "$3")"
  printf '%b\n' "$4" >"dhisparse/$3"
  found=$(check "$1")
  case $2 in
    good) [ -z "$found" ] || { echo "wrongly found: $found"; n_wrong=$((n_wrong + 1)); } ;;
    bad) [ -n "$found" ] || { echo "$1 missed in $3: $4"; n_wrong=$((n_wrong + 1)); } ;;
  esac
}
try layers good cache/a.hpp '#include <dhisparse/layout/b.hpp>\n#include <dhisparse/cache/c.hpp>\n#include <span>'
try layers good policy/replacement/a.hpp '#include <dhisparse/layout/b.hpp>'
try layers good ledger/a.hpp '#include <dhisparse/round/b.hpp>\n// #include <dhisparse/hierarchy.hpp>'
try layers good hierarchy.hpp '#include <dhisparse/ledger/b.hpp>\n#include <dhisparse/fwd.hpp>'
try layers bad core/a.hpp '#include <dhisparse/layout/b.hpp>'
try layers bad pool/a.hpp '#include <dhisparse/cache/b.hpp>'
try layers bad memory/a.cuh '# include <dhisparse/pool/b.hpp>'
try layers bad ledger/a.hpp '#include <dhisparse/hierarchy.hpp>'
try layers bad ledger/a.hpp '#include "../cache/a.hpp"'
try layers bad other/a.hpp '#include <dhisparse/cache/b.hpp>'
try kernels good resolve/a.cuh 'template <class T>\n__global__ void f(T);\nstatic __global__ void g();'
try kernels good resolve/a.cuh 'namespace {\n__global__ void f();\n}'
try kernels bad resolve/a.cuh 'struct a {};\n__global__ void f();'
try kernels bad resolve/a.cuh 'template <class T> void g(T) {}\ninline __global__ void f() {}'
try kernels bad resolve/a.cuh 'template <>\n__global__ void f<int>(int) {}'
try namespaces good core/a.hpp '// using namespace std;\nusing std::span;'
try namespaces bad core/a.hpp '  using namespace std;'
try umbrella good dhisparse.hpp '/// All.\n#pragma once\n#include <dhisparse/hierarchy.hpp>'
try umbrella bad dhisparse.hpp '#pragma once\nstruct a;'
try umbrella bad core/a.hpp '#include <dhisparse/dhisparse.hpp>'
try dependencies good resolve/a.cuh '#include <cub/block/block_scan.cuh>\n#include <cuda/std/span>'
try dependencies bad resolve/a.hpp '#include <cuda/std/span>'
try dependencies bad core/a.hpp '#include <fmt/core.h>'
try dependencies bad ledger/a.cuh '#pragma once'
exit "$((n_wrong > 0))"
