#!/usr/bin/env bash
# Mutates a package with gremlins and prints its score. The tests of a mutant are those of the
# package and then searches by the harness with random schedules and faults, until one fails.
#
#	score.sh PACKAGE DIRECTORY [FLAG...]
#
# PACKAGE is lock, simzk or simzk/tree. DIRECTORY gets the results, flags go to gremlins.
set -euo pipefail
gremlins=github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.."
export PACKAGE=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2

rapid='-rapid.nofailfile -rapid.shrinktime=1ms'
searches="scenarios/subjects $rapid -test.run ^Test(Correct|Production)Locks$"
case $PACKAGE in
lock) TESTS="lock $rapid
$searches" ;;
simzk) TESTS="simzk -test.run=^Test([^M]|Mutations[^A])
lock $rapid
simzk/tcp
$searches" ;;
simzk/tree) TESTS="simzk/tree $rapid
lock $rapid
$searches" ;;
*) echo "no tests for $PACKAGE" && exit 1 ;;
esac
export TESTS

ROOT=$PWD
BASE=$(mktemp -d)
trap 'rm -rf "$BASE"' EXIT
MODULE=$(go list -m)
LANGUAGE=go$(go list -m -f '{{.GoVersion}}' | cut -d. -f1-2)
LOG=$out/log
export ROOT BASE MODULE LANGUAGE LOG
cut -d' ' -f1 <<<"$TESTS" | while read -r directory; do
	mkdir -p "$BASE/$directory"
	go list -trimpath -export -test -deps \
		-f '{{.ImportPath}}|{{.Export}}|{{join .GoFiles " "}}' "./$directory" |
		awk -F'|' -v base="$BASE/$directory" -v test="$MODULE/$directory.test" \
			-v mutated="$MODULE/$PACKAGE" '
			{ path = $1; variant = sub(/ \[.*/, "", path) ? "test" : "plain" }
			path in kind && kind[path] == "test" { next }
			{ kind[path] = variant; export[path] = $2; files[path] = $3 }
			END {
				for (path in export) if (export[path])
					print "packagefile " path "=" export[path] >(base "/imports")
				print export[test] >(base "/main")
				print kind[mutated], files[mutated] >(base "/files")
			}'
done

GOBIN=$BASE/bin go install "$gremlins"
PATH=$here/path:$PATH
: >"$LOG"
# What is not mutated must pass.
go test -failfast >"$out/control" 2>&1 ||
	{ tail "$out/control"; exit 1; }
: >"$LOG"
"$BASE/bin/gremlins" unleash "./$PACKAGE" --timeout-coefficient 300 --output "$out/gremlins.json" "$@"
