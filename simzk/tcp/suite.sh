#!/usr/bin/env bash
# Runs the tests of github.com/go-zookeeper/zk, unmodified and from the module cache, against simulated servers. The tests
# start servers by a zkServer.sh, and cmd/zkserver has one that interlock serve answers. It ends with the number of tests
# that passed, failed and were skipped, and with status 1 unless all passed, as they do with real servers.
# A test that fails is given a second try: TestIntegration_DNSHostProviderReconnect kills a server and hopes that its
# client notices before the next request, which on a busy machine goes wrong with real servers too.
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
run() {
	ZOOKEEPER_BIN_PATH=$PWD/cmd/zkserver INTERLOCK=$work/interlock INTERLOCK_CONTROL=$work/control ZK_VERSION=3.6.1 \
		go test -count=1 -v "$@" github.com/go-zookeeper/zk >"$work/output" 2>&1
}
names() { sed -n "s/^--- $1: \([^ ]*\).*/\1/p" "$work/output"; }
count() { names "$1" | wc -l; }

status=0
run "$@" || status=1
passed=$(count PASS) failed=$(count FAIL) skipped=$(count SKIP)
if ((failed > 0)); then
	cat "$work/output"
	again=$(names FAIL | paste -sd '|')
	echo "second try: $again"
	if run "$@" -run="^($again)\$"; then
		status=0 passed=$((passed + failed)) failed=0
	fi
fi
if ((status != 0 || skipped > 0 || passed == 0)); then
	cat "$work/output"
	status=1
fi
echo "$passed passed, $failed failed, $skipped skipped"
exit "$status"
