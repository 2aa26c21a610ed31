#!/usr/bin/env bash
# Makes the modules require each other in a version; see docs/releases.md.
#
#	versions.sh VERSION [command]
#
# With "command", the module of the command no longer replaces the others, which must have been
# published.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../../.."
version=$1
module=github.com/interlock-sim/interlock
for file in cmd/go.mod lock/lockotel/go.mod sim/simredis/go.mod sim/simsql/go.mod; do
	sed -i -E "s#^(require |\t)($module\S*) v\S+#\1\2 $version#" "$file"
done
if [[ ${2-} == command ]]; then
	sed -i '/^replace (/,/^)/d' cmd/go.mod
	cd cmd
	GOWORK=off go mod tidy
fi
