#!/usr/bin/env bash
# Mutates a package with gremlins and prints its score. The tests of a mutant are those of the
# package and then searches by the harness with random schedules and faults, until one fails.
#
#	score.sh PACKAGE DIRECTORY [FLAG...]
#
# PACKAGE is lock, simzk or simzk/tree. DIRECTORY gets the results, flags go to gremlins. With
# FILES='A|B' only the files A.go and B.go are mutated, and with SAMPLE=I/N only those mutants are
# tested whose checksum modulo N is I.
set -euo pipefail
export GOWORK=off # The mutated packages and their tests are in the root module.
gremlins=github.com/go-gremlins/gremlins/cmd/gremlins@v0.6.0

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../../.."
export PACKAGE=$1
mkdir -p "$2"
out=$(cd "$2" && pwd)
shift 2

# A line of TESTS: the processor time in seconds after which the tests have failed, about three
# times what they need, the directory, and the flags.
rapid='-rapid.nofailfile -rapid.shrinktime=1ms'
searches="20 scenarios/subjects $rapid -test.run ^Test(Correct|Production)Locks$"
case $PACKAGE in
lock) TESTS="60 lock $rapid
$searches" ;;
simzk) TESTS="8 simzk -test.run=^Test([^M]|Mutations[^A])
10 simzk/tcp
$searches
60 lock $rapid -test.skip=OnZooKeeper|Dial|OneDependency" ;;
simzk/tree) TESTS="15 simzk/tree $rapid
60 lock $rapid
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
# Without inlining, no mutant changes what the packages that import it are compiled from.
GCFLAGS=-gcflags=$MODULE/$PACKAGE=-l
export ROOT BASE MODULE LANGUAGE LOG GCFLAGS SAMPLE=${SAMPLE-0/1}
cut -d' ' -f2 <<<"$TESTS" | while read -r directory; do
	mkdir -p "$BASE/$directory"
	go list -trimpath "$GCFLAGS" -export -test -deps \
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
exclude=(--exclude-files /) # gremlins would mutate the packages below, too.
for file in "$PACKAGE"/*.go; do
	name=$(basename "$file" .go)
	[[ $name =~ ^(${FILES-.*})$ ]] || exclude+=(--exclude-files "^$name\.go$")
done
"$BASE/bin/gremlins" unleash "./$PACKAGE" --workers 1 --timeout-coefficient 300 \
	"${exclude[@]}" --output "$out/gremlins.json" "$@"
# gremlins counts a mutant as lived if the script has failed.
counted=$(grep -oE '"mutants_(killed|lived)":[0-9]+' "$out/gremlins.json" | cut -d: -f2 |
	paste -sd+)
if ((counted != $(grep -cE ' (lives|killed by [a-z/]*)$' "$LOG"))); then
	echo "verdicts are missing in $LOG"
	exit 1
fi

# gremlins counts what is not in the sample as not viable. The interval is Wilson's.
grep -o 'killed by [a-z/]*$' "$LOG" | sort | uniq -c || true
awk '
	/ lives$/ { lived++ }
	/ killed by / { killed++ }
	/ does not compile$/ { invalid++ }
	END {
		n = killed + lived
		printf "%d killed, %d lived, %d do not compile\n", killed, lived, invalid
		if (!n) exit
		p = killed / n; z = 1.96
		half = z * sqrt(p * (1 - p) / n + z * z / (4 * n * n))
		printf "score %.1f %%, as a sample %.1f to %.1f %% (95 %%)\n", 100 * p,
			100 * (p + z * z / (2 * n) - half) / (1 + z * z / n),
			100 * (p + z * z / (2 * n) + half) / (1 + z * z / n)
	}' "$LOG"
