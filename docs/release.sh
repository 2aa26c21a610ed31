#!/bin/sh
# Validates a lock before its release, and ends with status 0 only if all has been tried that was to be and nothing was found.
# Usage: sh release.sh LOCK DIRECTORY, where the reports go. Counterexamples of earlier failures stand below corpus.
set -eu
lock=$1 reports=$2
mkdir -p "$reports"

# What was found once must not come back.
for recorded in corpus/*/; do
	[ ! -d "$recorded" ] || interlock replay "$recorded"
done

# The same schedules for every release, so that their reports can be compared.
interlock check --lock "$lock" --seed 1 --schedules "${SCHEDULES:-100000}" --require-coverage cut@hold,expire@wait,lose-reply@create \
	--out "$reports" --json "$reports/same.json"

# Others each time, of a larger scenario.
interlock check --lock "$lock" --clients 4 --servers 3 --faults any=3 --seed "${SEED:-random}" --budget "${BUDGET:-10m}" \
	--out "$reports" --json "$reports/fresh.json"

# All schedules of a small one.
interlock check --lock "$lock" --strategy exhaustive --clients 2 --cycles 1 --faults any=1 --fair-suffixes \
	--out "$reports" --json "$reports/all.json"

# A campaign that a signal has ended finds nothing either.
if grep -l '"interrupted": true' "$reports"/*.json; then
	exit 1
fi
grep -q '"complete": true' "$reports/all.json"
