#!/usr/bin/env bash
# Runs the tests of github.com/go-zookeeper/zk, unmodified and from the module cache, against simulated servers. The tests
# start servers by a zkServer.sh, and cmd/zkserver has one that interlock serve answers. It ends with the number of tests
# that passed, failed and were skipped, and with status 1 if one failed or was skipped: on a real server all pass.
# Arguments are passed on to go test, such as -race or -run=Reconfig.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

work=$(mktemp -d)
daemon=
# shellcheck disable=SC2329 # The trap calls it.
end() {
	[[ -z $daemon ]] || { kill "$daemon" && wait "$daemon"; } || true
	rm -rf "$work"
}
trap end EXIT

go build -o "$work/interlock" ./cmd/interlock
"$work/interlock" serve --listen 127.0.0.1:0 --control "$work/control" >"$work/serve" &
daemon=$!
until [[ -s $work/serve ]]; do # The first line says that it serves.
	kill -0 "$daemon" || exit 1
	sleep 0.02
done

# ZK_VERSION enables the tests of reconfigs.
status=0
ZOOKEEPER_BIN_PATH=$PWD/cmd/zkserver INTERLOCK=$work/interlock INTERLOCK_CONTROL=$work/control ZK_VERSION=3.6.1 \
	go test -count=1 -v "$@" github.com/go-zookeeper/zk >"$work/output" 2>&1 || status=$?

count() { grep -c "^--- $1: " "$work/output" || true; }
passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)
if ((status != 0 || failed > 0 || skipped > 0 || passed == 0)); then
	status=1
	tail -n 300 "$work/output"
	grep -E '^--- (FAIL|SKIP): ' "$work/output" || true
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
