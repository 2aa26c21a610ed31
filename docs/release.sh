#!/bin/sh
# Validates a lock before its release. The status is 0 only if every step has run to its end and found
# nothing. Usage: sh release.sh LOCK DIRECTORY; reports go to the directory, and counterexamples of
# earlier failures are in corpus.
set -eu
lock=$1 reports=$2
mkdir -p "$reports"

# Earlier failures do not come back.
for recorded in corpus/*/; do
	[ ! -d "$recorded" ] || interlock replay "$recorded"
done

# The schedules are the same for every release, so that their reports can be compared.
interlock check --lock "$lock" --seed 1 --schedules "${SCHEDULES:-100000}" --require-coverage cut@hold,expire@wait,lose-reply@create \
	--out "$reports" --json "$reports/same.json"

# The schedules of a larger scenario are new each time.
interlock check --lock "$lock" --clients 4 --servers 3 --faults any=3 --seed "${SEED:-random}" --budget "${BUDGET:-10m}" \
	--out "$reports" --json "$reports/fresh.json"

# All schedules of a small scenario.
interlock check --lock "$lock" --strategy exhaustive --clients 2 --cycles 1 --faults any=1 --fair-suffixes \
	--out "$reports" --json "$reports/all.json"

# A campaign that a signal ended also has status 0.
if grep -l '"interrupted": true' "$reports"/*.json; then
	exit 1
fi
grep -q '"complete": true' "$reports/all.json"
