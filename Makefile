.DEFAULT_GOAL := help
# All targets are commands.
.PHONY: $(shell awk -F: '/^[a-z-]+:/ { print $$1 }' $(firstword $(MAKEFILE_LIST)))

##@ Build and test

help: ## Show this help.
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/interlock.
	go build -o bin/interlock ./cmd/interlock

test: ## Run the tests of all modules.
	go test work

# What runs on several goroutines: what is around a connection or a process, and of the search the
# tests of workers, threads, cancellations and servers.
connections = ./history ./lock/... ./lock/lockotel ./sim/... ./sim/simredis ./sim/simsql ./simzk ./simzk/client/... ./simzk/tcp \
	./internal/run/supervise ./cmd/internal/show/dashboard
searches = . ./internal/run/engine ./cmd/bundled ./cmd/internal/show/explore/site \
	$(addprefix ./internal/search/,campaign exhaustive shard shrink strategy)
concurrent = Workers|Cancel|Interrupted|BeforeTimeout|CheckKeepsGoing|Crashed|ReusedMemory|ThreadDefects|ThreadsOfProduction|SearchShardsMerge|Progress|DefaultPath|RandomWalk
# go-zookeeper/zk races with itself when it reconnects and has watches to set again and requests to
# answer, see https://github.com/go-zookeeper/zk/pull/35: `make test` runs these tests.
reconnections = TestSessionShortened$$|TestBehaviour$$/.*/^a_(short_disconnection_is_survived|partitioned_holder_learns)

long: ## Run everything that the tests can do; `make test` runs a sample of long tests.
	INTERLOCK_LONG=1 go test -timeout=60m work

# Long tests that add no concurrency to that of the others; `make race-all` runs them too.
slow = TestRowLock$$|TestGuaranteesAreKept$$|TestStateHashTellsReports$$

# race-all adds what takes long to build with the race detector: the command, and workers with NATS.
race: ## Run the tests of what is concurrent under the race detector.
	go test -race -vet=off -run='^Test' -skip='$(slow)|$(reconnections)' $(connections)
	go test -race -vet=off -run='$(concurrent)' $(searches)

race-all: ## Run all tests under the race detector.
	go test -race -vet=off -timeout=60m -skip='$(reconnections)' work

daily: long race-all fuzz mutate mutate-search-quick bench-guard ## Run what CI runs once a day: everything that the tests can do.

clean: ## Remove build products, profiles and counterexamples.
	rm -rf bin interlock-failures coverage internal/show/page/web/node_modules
	rm -f interlock *.test *.prof coverage*.out coverage.html

##@ Checks

lint: ## Run gofumpt, go vet, staticcheck and revive, type-check for other platforms, and compare the API with the last release.
	@unformatted=$$(go tool gofumpt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofumpt:"; echo "$$unformatted"; exit 1; fi
	go vet work
	go tool staticcheck work
	go tool revive -config revive.toml ./...
	go run ./cmd/internal/platforms
	go run ./cmd/internal/apicheck

api-baseline: ## Make the exported API of now the one of the last release.
	go run ./cmd/internal/apicheck -write

# Bounded by executions, not by time: a fuzzer whose time ends while a worker is busy can fail with
# "context deadline exceeded".
fuzz: ## Fuzz the locks, the protocol and the listener, for about five minutes.
	go test -run='^$$' -fuzz=FuzzMutex -fuzztime=20000x ./scenarios/subjects
	for target in FuzzRequest FuzzReply FuzzConnect FuzzFrame; do \
		go test -run='^$$' -fuzz=$$target -fuzztime=500000x ./simzk/wire || exit 1; done
	go test -run='^$$' -fuzz=FuzzConnection -fuzztime=80000x ./simzk/tcp

conform: ## Compare the simulated server with Debian's ZooKeeper in a million operations.
	go run ./cmd/interlock conform --installed --operations 1000000

FRAMES ?= 1000000
frames: ## Send FRAMES mutated frames to the simulated server and to Debian's ZooKeeper, and compare the answers.
	go run ./cmd/interlock conform --installed --operations 0 --frames $(FRAMES)

suite: ## Run the tests of go-zookeeper/zk against the simulated server.
	bash simzk/tcp/suite.sh

chaos: build ## Run package lock and zk.Lock on Debian's ZooKeeper, with the same faults, for 5 minutes.
	go build -o bin/chaos ./internal/tools/chaos && bin/chaos

agree: ## Compare checkers, porcupine and plain searches on 100,000 random histories each.
	go test ./history/check ./history/production -count=1 -timeout=30m -run='Agree|Histories|Grants|WithinIsSound|EqualStates' -rapid.checks=100000

release-check: ## Let GoReleaser check .goreleaser.yaml.
	go run github.com/goreleaser/goreleaser/v2@v2.15.1 check

ci: ## Run everything that CI runs.
	bash .ci/run

##@ Searches

bugs: ## Show how soon each known defect is found, by the median of 10 seeds; twins must pass 20,000 schedules.
	go run ./cmd/interlock bugs --twins 20000

costs: ## Measure what locks and operations cost, on the simulator and on Debian's ZooKeeper.
	go test ./cmd/internal/judge/costs -count=1 -v -bench=. -benchtime=1x

report-card: ## Judge all published locks, and write docs/report-card.md, .html, .json and its counterexamples.
	rm -f docs/report-card/*.json
	go run ./cmd/interlock report-card --out docs/report-card --json docs/report-card.json \
		--html docs/report-card.html --markdown docs/report-card.md

shrinking: ## Show what shrinking costs for each broken lock, on one processor.
	INTERLOCK_LONG=1 go test ./internal/search/shrink -count=1 -cpu=1 -run='^TestShrinkBrokenLocks$$' -v

PATTERN ?=
mutate: ## Insert each known defect into the lock, the search or the simulator, and verify that its test fails.
	go run ./internal/tools/mutation '$(PATTERN)'

mutate-search: ## Count how many of the published defects interlock check finds.
	go run ./internal/tools/mutation -search

mutate-search-quick: ## Verify that interlock check finds the published defects that are easy to find.
	go run ./internal/tools/mutation -search -quick

PACKAGE ?= lock
mutation-score: ## Count the mutants of PACKAGE that its tests and searches find.
	internal/tools/mutationscore/score.sh $(PACKAGE) coverage/mutation/$(PACKAGE) $(FLAGS)

referee: ## Compare the exhaustive search with plain runs on 10,000 random locks, and on 500 of each other dimension.
	go test ./cmd/internal/testkit/referee -count=1 -timeout=24h -cpu=2 -v -args -locks=10000 -each=500
	GOFLAGS="$$(go run ./cmd/interlock scheduler)" go test ./cmd/internal/testkit/referee -count=1 -timeout=5h \
		-v -args -dimension=goroutines -each=500

mutations: ## Search for random locks that expose the defects of the exhaustive search.
	go run ./internal/tools/mutation -witnesses '$(PATTERN)'

alarms: build ## Check all correct locks with three faults each, on one and three servers; any violation is a false alarm.
	for servers in 1 3; do \
		bin/interlock check --lock all --servers $$servers --faults any=3 --schedules 12000 || exit 1; done

##@ Benchmarks

bench: ## Run the benchmarks.
	go test -run='^$$' -bench=. -benchmem -timeout=30m work

GUARD = go run ./internal/tools/compare -slowest 1.05 -base $$($(MAKE) -s bench-guard-base)

bench-guard-base: ## Print the commit that bench-guard compares with.
	@sed -n 's/.*`make bench-guard` compares with commit \([0-9a-f]*\).*/\1/p' docs/benchmarks.md

bench-guard: ## Compare the speed with the commit in docs/benchmarks.md, and fail if a result differs or is 5 % slower.
	$(GUARD)

bench-guard-quick: ## The same with three short searches.
	$(GUARD) -quick

bench-profile: SHELL := bash
bench-profile: ## Print what the schedules of each row of benchmarks spend processor time on, in per cent.
	@directory=$$(mktemp -d) && trap 'rm -r '$$directory EXIT && \
	for row in 'internal/run/engine Schedule$$ 20000x' 'internal/run/engine Servers 4000x' \
		'internal/run/engine ScheduleReal 4000x' 'cmd/bundled/sqllocks Schedule/unique 4000x' \
		'cmd/bundled/sqllocks Schedule/setnx-lease 4000x' \
		'internal/search/exhaustive Exhaustive/4x1 3x'; do set -- $$row && \
		go test -run='^$$' -bench="$$2" -benchtime=$$3 -cpuprofile=$$directory/cpu \
			-o $$directory/test ./$$1 >/dev/null && \
		go tool pprof -top -nodecount=100000 -nodefraction=0 $$directory/test $$directory/cpu \
			2>/dev/null | awk -v name="\`$${2%$$}\`" -f docs/internals/profile.awk; done

bench-scheduler: SHELL := bash
bench-scheduler: ## Compare schedules with and without the goroutine scheduler.
	directory=$$(mktemp -d) && trap 'rm -r '$$directory EXIT && \
	go test -c -o $$directory/stock ./internal/run/engine && \
	flags=$$(go run ./cmd/interlock scheduler) && \
	go test -c $$flags -o $$directory/scheduled ./internal/run/engine && \
	for i in 1 2 3 4 5 6; do for program in stock scheduled; do \
		TIMEFORMAT="$$program %U %S"; \
		time $$directory/$$program -test.run='^$$' -test.bench='Schedule$$' \
			-test.benchtime=10000x -test.cpu=1 >/dev/null; \
	done; done 2>&1 | awk '{ t = $$2 + $$3; if (!($$1 in least) || t < least[$$1]) least[$$1] = t } \
		END { printf "%.2f × the processor time\n", least["scheduled"] / least["stock"] }'

bench-zookeeper: ## Compare the lock with go-zookeeper/zk, Curator and kazoo on Debian's ZooKeeper.
	for benchmark in ZooKeeper=20000x ZooKeeperPauses=15000x ZooKeeperLink=500x ZooKeeperDrain=9x ZooKeeperMany=1x ZooKeeperSlowLink=150x; do \
		INTERLOCK_REQUIRE_ZOOKEEPER=1 go test -run='^$$' -timeout=60m ./lock \
			-bench="$${benchmark%=*}\$$" -benchtime="$${benchmark#*=}" || exit 1; done

##@ Documentation

docs: ## Regenerate the command output in the documentation.
	go run docs/output.go README.md docs/*.md

##@ The page of timeline.html and interlock explore

page: ## Rebuild the page's bundle from its TypeScript; needs Node.js and npm.
	cd internal/show/page/web && npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check && npm run --silent build

page-check: ## Rebuild the page's bundle and verify that it is the one checked in.
	@built=$$(mktemp -d) && trap 'rm -rf "$$built"' EXIT && cd internal/show/page/web && \
	npm ci --ignore-scripts --no-audit --no-fund && npm run --silent check && \
	npm run --silent build -- "$$built" && \
	for file in bundle.js bundle.css; do \
		cmp "$$built/$$file" "../$$file" || { echo "run make page and commit internal/show/page/$$file"; exit 1; }; done

page-images: ## Take the screenshots in docs/images; needs Chromium.
	INTERLOCK_REQUIRE_CHROMIUM=1 go test ./cmd/internal/show/page ./cmd/internal/show/explore/site -count=1 -run='^TestImages$$' -args -images=$(CURDIR)/docs/images
