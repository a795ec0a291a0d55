# Berth's make targets. `make` alone prints them.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# One set of build flags for development, lint and CI. -trimpath and -race each
# compile every dependency a second time, so neither is among them.
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo unknown)
BUILD   := -buildvcs=false -ldflags '-X main.version=$(VERSION)'
IMAGE   ?= ghcr.io/berth-dev/berth-controller:$(VERSION)

# Tools have a go.mod of their own, so that their dependencies are none of ours.
TOOL := go tool -modfile=tools/go.mod
LINT := $(TOOL) golangci-lint-kube-api-linter

# The tests that need a real control plane are those in test/; those that need
# real nodes too are test/kubelet. TESTFLAGS=-v prints each test's name.
TESTFLAGS ?=
PURE_AND_UNIT = $(shell go list ./... | grep -Ev '/test/((e2e|integration|perf)(/|$$)|kubelet$$)')
ON_A_SERVER   = $(shell go list ./... | grep -E '/test/(e2e|integration)(/|$$)')

phase = @printf '\n==> %s\n' '$(1)'

.PHONY: help
help: ## Print the targets.
	@awk 'BEGIN {FS = ":.*## "} /^[a-z0-9-]+:.*## / {printf "  make %-11s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## Build bin/berth-controller, bin/kubectl-berth and bin/berth-sandbox.
	$(call phase,build $(VERSION) into bin/)
	@mkdir -p bin
	go build $(BUILD) -o bin/ ./cmd/...

# What an admin writes as an amount. The pattern that controller-gen gives every
# quantity lets 1e1.5 through, which no client can read: one such object would
# hide all others from whoever lists them. A marker cannot replace it. Numbers go up
# to 9223372036854775807, the largest that a quantity counts: those of 19 digits digit
# by digit, since a rule that compares them is too dear for an API server.
DIGITS19 := [1-8][0-9]{18}|9[0-1][0-9]{17}|92[0-1][0-9]{16}|922[0-2][0-9]{15}|9223[0-2][0-9]{14}|92233[0-6][0-9]{13}|922337[0-1][0-9]{12}|92233720[0-2][0-9]{10}|922337203[0-5][0-9]{9}|9223372036[0-7][0-9]{8}|92233720368[0-4][0-9]{7}|922337203685[0-3][0-9]{6}|9223372036854[0-6][0-9]{5}|92233720368547[0-6][0-9]{4}|922337203685477[0-4][0-9]{3}|9223372036854775[0-7][0-9]{2}|922337203685477580[0-7]
AMOUNT := ^-?([0-9]{1,18}([.][0-9]{1,9})?([mkMGTPE]|[KMGTPE]i)?|$(DIGITS19))$$

.PHONY: generate
generate: ## Write what is generated: deep copies and CRDs, from the types in apis/.
	$(call phase,generate deep copies and CRDs)
	$(TOOL) controller-gen object crd paths=./apis/... output:crd:dir=config/crd
	@sed -i -E "s/pattern: \^\(\\\\\+\|-\)\?.*/pattern: '$(AMOUNT)'/" config/crd/berth.dev_clusterqueues.yaml config/crd/berth.dev_cohorts.yaml

.PHONY: lint
lint: ## Run the linters (the first time they are compiled: some minutes).
	$(call phase,lint (.golangci.yaml))
	$(LINT) run --allow-parallel-runners --timeout 20m ./...

.PHONY: verify
verify: generate ## Regenerate, lint, and demand a clean tree.
	$(call phase,verify: what is generated is committed)
	@git diff --stat --exit-code -- config/crd '*zz_generated*' || \
		{ echo 'commit what make generate has written'; exit 1; }
	@$(MAKE) --no-print-directory lint
	$(call phase,verify: the tree is clean)
	@left=$$(git status --porcelain); test -z "$$left" || \
		{ printf 'not committed:\n%s\n' "$$left"; exit 1; }

.PHONY: test-unit
test-unit: ## Run the tests that need nothing but Go.
	$(call phase,test: all packages that need no server)
	go test $(TESTFLAGS) -timeout 20m $(PURE_AND_UNIT)

.PHONY: servers
servers: build ## Build the real control plane for tests, if it is not in the cache ($BERTH_CACHE).
	$(call phase,servers: start a sandbox once and stop it; it builds the servers if they are missing)
	@dir=$$(mktemp -d); trap 'bin/berth-sandbox down --dir "$$dir" || true; rm -rf "$$dir"' EXIT; \
		bin/berth-sandbox up --bare --nodes 2 --dir "$$dir"

.PHONY: e2e
e2e: servers ## Run the tests on the real control plane.
	$(call phase,test: on a real control plane with simulated nodes)
	@packages='$(ON_A_SERVER)'; test -z "$$packages" || \
		{ set -x; go test $(TESTFLAGS) -count=1 -p 1 -timeout 40m $$packages; }

# In the package's own folder go test prints what it has to say also when it
# passes: why it was skipped, say.
.PHONY: e2e-kubelet
e2e-kubelet: ## Run the tests on nodes with a real kubelet (root, control groups v1, apt-get; else skipped, with the reason). BERTH_LONG=1: those that lose and drain nodes, too.
	$(call phase,test: on real nodes: kubelet and containers)
	go -C test/kubelet test $(TESTFLAGS) -count=1 -timeout 40m

.PHONY: test
test: build test-unit e2e e2e-kubelet ## Do all set-up and run all tests, those on the real control plane and on real nodes included.

# How long each fuzz target runs, and what else `go test -fuzz` is told. By itself
# it takes up to a minute to make each input smaller that reaches new code: of ten
# minutes FuzzPlan had nine for that, and ran a few hundred worlds.
FUZZTIME  ?= 10m
FUZZFLAGS ?= -fuzzminimizetime 10x

.PHONY: fuzz
fuzz: ## Run every fuzz target, FUZZTIME (10m) each, one after another.
	$(call phase,fuzz: every target for $(FUZZTIME))
	@grep -ro --include='*_test.go' '^func Fuzz[A-Za-z]*' pkg | sort | while IFS=: read -r file target; do \
		target=$${target#func }; printf '\n%s: %s\n' "$$(dirname "$$file")" "$$target"; \
		go test "./$$(dirname "$$file")" -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) $(FUZZFLAGS) </dev/null; \
	done

.PHONY: demo
demo: build ## Show Berth at work: a cluster on this machine, two queues, a mix of jobs, a summary.
	bin/berth-sandbox demo

.PHONY: perf
perf: servers ## Measure, and compare with the budgets (takes long; quiet machine).
	go test -v -count=1 -p 1 -timeout 60m ./test/perf/...

.PHONY: manifests
manifests: ## Print what an installation applies: make manifests IMAGE=name:tag | kubectl apply --server-side -f -
	@$(TOOL) kustomize build config/default | sed 's|image: ghcr.io/berth-dev/berth-controller:.*|image: $(IMAGE)|'

.PHONY: image
image: ## Build the controller's image with Docker (IMAGE=name:tag).
	docker build --build-arg VERSION=$(VERSION) -t $(IMAGE) .

.PHONY: clean
clean: ## Remove bin/ and the data of sandboxes. The cache of built servers stays.
	rm -rf bin .berth
