#!/usr/bin/env bash
# Makes the modules require each other in a version. A release tags all of them with it. go install
# refuses a go.mod with replace, so the command is tagged on a commit of its own, after the others
# are published; golang.org/x/tools releases gopls in the same way.
#
#	internal/tools/release/versions.sh v0.1.0
#	git commit -am "Version v0.1.0"
#	for module in "" sim/simredis/ sim/simsql/ lock/lockotel/; do git tag ${module}v0.1.0; done
#	git push --tags origin main
#	internal/tools/release/versions.sh v0.1.0 command # replaces none of the published modules
#	git commit -am "Version v0.1.0 of the command"
#	git tag cmd/v0.1.0
#	git push origin cmd/v0.1.0 && git reset --hard HEAD^
#
# INTERLOCK_LONG=1 go test ./internal/contributing -run Release installs the command from modules
# that are published so on one machine.
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
