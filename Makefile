.DEFAULT_GOAL := help
.PHONY: help build test race lint fuzz bench bench-zookeeper conform suite defects mutate mutate-search agree referee mutations alarms docs ci clean

help: ## Show this help.
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

build: ## Build bin/interlock.
	go build -o bin/interlock ./cmd/interlock

test: ## Run the tests.
	go test ./...

# The race detector never gives back what it notes of goroutines, and a search goes through so many that 24 GB do not suffice for
# all tests of scenarios in one process: there are two, side by side. Exhaustive searches run on one goroutine; their tests are left
# to `make test`.
searches = Rehears|Reduction|Likeness|Automata|Symmetry|Forgotten|Broken|StateCounts|Exhaustive|Slack|Snapshots|TimeTells|Endless|ToldApart|SearchesLeave|FairPhase|Storing|Mutations|EqualStates|NoTrap

race: ## Run the tests under the race detector, but for those of exhaustive searches.
	go test -race -skip='^TestDefects$$' $$(go list ./... | grep -v -e '/scenarios$$' -e '/referee$$')
	go test -race -run='^Test[A-P]' -skip='$(searches)' ./scenarios & \
	go test -race -run='^Test[Q-Z]|^Example|^Fuzz' -skip='$(searches)' ./scenarios; status=$$?; \
	wait $$! && exit $$status

lint: ## Check the formatting, go vet and staticcheck.
	@unformatted=$$(gofmt -l .) || exit 1; \
	if [ -n "$$unformatted" ]; then echo "not formatted with gofmt:"; echo "$$unformatted"; exit 1; fi
	go vet ./...
	go tool staticcheck ./...

fuzz: ## Fuzz the locks, the protocol and the listener, half a minute each.
	go test -fuzz=FuzzMutex -fuzztime=30s ./scenarios/subjects
	for target in FuzzRequest FuzzReply FuzzConnect FuzzFrame; do \
		go test -run='^$$' -fuzz=$$target -fuzztime=30s ./simzk/wire || exit 1; done
	go test -run='^$$' -fuzz=FuzzConnection -fuzztime=30s ./simzk/tcp

conform: ## Compare the simulated server with Debian's ZooKeeper in a million operations.
	go run ./cmd/interlock conform --installed --operations 1000000

suite: ## Run the tests of go-zookeeper/zk against the simulated server.
	bash simzk/tcp/suite.sh

defects: ## Show under which property each broken lock is found, and how soon on one processor; its twin must stand 10,000 schedules.
	go test ./scenarios/subjects -count=1 -cpu=1 -run='^TestDefects$$' -v -args -twins=10000

mutate: ## Insert each known defect into the lock and verify that its test fails.
	go run ./internal/mutate

mutate-search: ## Count how many of the published defects interlock check finds.
	go run ./internal/mutate -search

agree: ## Compare checkers, porcupine and plain searches on 100,000 random histories each.
	go test ./history -count=1 -timeout=30m -run='Agree|Histories|Grants|WithinIsSound|EqualStates' -rapid.checks=100000

referee: ## Compare the exhaustive search with plain runs of 10,000 random locks.
	go test ./internal/referee -count=1 -timeout=5h -v -args -locks=10000

mutations: ## Break the exhaustive search on purpose, and demand that random locks show it.
	go test ./scenarios -count=1 -timeout=5h -run='^TestFindWitnesses$$' -v -args -mutation-locks=2000

alarms: build ## Check all correct locks in 408,000 schedules with three faults each: whatever is found is wrong.
	for servers in 1 3; do for lock in mutex textbook herd trylock reentrant rwmutex semaphore multi guarded session no-deadline deadline-retry pair aged-directory sequence-overflow careful \
		textbook-guarded; do \
		bin/interlock check --lock $$lock --servers $$servers --faults any=3 --schedules 12000 || exit 1; done; done

bench: ## Run the benchmarks.
	go test -run='^$$' -bench=. -benchmem -timeout=30m ./...

bench-zookeeper: ## Compare the lock with that of go-zookeeper/zk on Debian's ZooKeeper.
	INTERLOCK_REQUIRE_ZOOKEEPER=1 go test -run='^$$' -bench=ZooKeeper -benchtime=50000x ./lock

docs: ## Put fresh output of commands into the documentation.
	go run docs/output.go README.md docs/*.md

ci: ## Run all that CI runs.
	bash .ci/run

clean: ## Remove what the other targets and interlock leave.
	rm -rf bin interlock-failures coverage
	rm -f interlock *.test *.prof coverage*.out coverage.html
