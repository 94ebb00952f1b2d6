# Short names for everyday commands. `make help` lists them.
BUILD := build/release
JOBS ?= $(shell nproc)
# One more than there are processors, because tests of programs wait for them.
TEST_JOBS ?= $(shell expr $(JOBS) + 1)
# Options for CMake, for instance CONFIGURE=-DDRA_WERROR=OFF.
CONFIGURE ?=

# $(call checked_ctest,PRESET,FOLDER[,OPTIONS]): skipped tests must be listed, with a reason that is true.
checked_ctest = rm -rf $(2) && GTEST_OUTPUT=json:$(abspath $(2))/gtest/ ctest --preset $(1) -j $(TEST_JOBS) --output-junit $(abspath $(2))/junit.xml $(3) \
  && scripts/check-skipped $(2)

# With sanitizers a step takes ten times as long: fewer of them, of the same kinds. `make test` takes all of them, `make check-deep` with sanitizers too.
SANITIZED ?= export DRA_ALLOCATOR_CASES=4000 DRA_GROUP_CASES=1000 DRA_ORACLE_EVERY=8 DRA_ARBITRATION_STEPS=25000 DRA_COUNTER_EXAMPLES=0 DRA_PERMISSION_STEP=8 DRA_BURST_PODS=300 DRA_WAITING_PODS=150 DRA_FEATURE_PODS=40 DRA_IDLE_CLAIMS=96 DRA_WHATIF_SEEDS=10 DRA_NUMBER_CASES=300 DRA_RULES_137_CASES=300 DRA_RAIL_CASES=300 DRA_PARTS_CASES=100 DRA_PAIR_CASES=1000 DRA_PREEMPT_WORLDS=100 DRA_ALTERNATIVE_CASES=200 DRA_USAGE_HISTORIES=100 DRA_USAGE_CARDS=200 DRA_SCREEN_CASES=15 DRA_FRAGMENTATION_WORLDS=100 DRA_EVICTION_WORLDS=50 DRA_PROMISE_SEEDS=1 DRA_PLUGIN_SEEDS=1 DRA_IDENTITY_CASES=200 DRA_SHARING_CASES=60 DRA_SHARE_HISTORIES=30 DRA_NODE_ROOM_CASES=300;

.DEFAULT_GOAL := help
.PHONY: help deps build demo unit test check real image dist released arm64 release site headlamp check-release asan tsan check-bench check-deep lint format bench clean

help: ## show this list
	@awk -F':.*## ' '/^[a-z0-9-]+:.*## / {printf "  make %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

deps: ## install the Debian packages that building and testing need (asks for root or sudo only if one is missing)
	@scripts/install-deps clang libclang-rt-14-dev

$(BUILD)/build.ninja: CMakeLists.txt CMakePresets.json
	@cmake --preset release $(CONFIGURE)

build: deps $(BUILD)/build.ninja ## build everything, optimised
	@cmake --build $(BUILD) -j $(JOBS)

build/quick/build.ninja: CMakeLists.txt CMakePresets.json
	@cmake --preset quick $(CONFIGURE)

demo: deps build/quick/build.ninja ## run the whole system on this machine: API server, GPU fleet, controller manager, workloads
	@cmake --build build/quick -j $(JOBS) --target dra-sandbox --target kubectl-dra
	@scripts/demo build/quick/bin

unit: deps ## one package's tests, not optimised: make unit T=queue [F=Suite.Test]; without T: which tests the changed files need
	@scripts/unit "$(T)" "$(F)"

test: build ## build and run every test
	@scripts/fetch-test-tools
	@$(call checked_ctest,release,$(BUILD)/tests)

check: deps $(BUILD)/build.ninja ## what `.ci/run` runs beside `make asan`: all tests but those that sanitizers run whole
	@cmake --build $(BUILD) -j $(JOBS) --target push_tests
	@scripts/fetch-test-tools
	@$(call checked_ctest,release,$(BUILD)/tests,-L push)

real: deps $(BUILD)/build.ninja ## every test that needs a real control plane ($$KUBEBUILDER_ASSETS); LONG=1: the integration programs on it, too (an hour)
	@cmake --build $(BUILD) -j $(JOBS) --target push_tests --target $(if $(LONG),unit_tests,integration_tests)
	@scripts/fetch-test-tools
	@scripts/real $(BUILD) $(if $(LONG),--long)

image: deps ## an OCI image archive of the hardened manager, from scratch: no base image, no other tools
	@cmake --preset hardened
	@cmake --build build/hardened -j $(JOBS) --target dra-controller-manager
	@mkdir -p $(BUILD)
	@scripts/build-image build/hardened/bin/dra-controller-manager $(BUILD)/dra-controller-manager.oci.tar

dist: deps ## an archive with the programs for a workstation, which runs where none of our packages is installed
	@cmake --preset hardened
	@cmake --build build/hardened -j $(JOBS) --target released
	@mkdir -p $(BUILD)
	@python3 scripts/release dist build/hardened/bin $(BUILD)/dra-controller-manager-dist.tar.gz

# 64-bit ARM beside this machine's own architecture, where that is amd64. ARCHITECTURES=amd64 leaves it out of a trial.
MACHINE := $(shell dpkg --print-architecture)
ARCHITECTURES ?= $(MACHINE) $(if $(filter amd64,$(MACHINE)),arm64)
CROSS = $(filter-out $(MACHINE),$(ARCHITECTURES))
RELEASED = --programs "$(MACHINE)=build/hardened/bin" $(foreach one,$(CROSS),--programs $(one)=build/$(one)/bin --sysroot $(one)=build/sysroot-$(one))

released: deps $(CROSS)
	@cmake --preset hardened
	@cmake --build build/hardened -j $(JOBS) --target released

arm64: deps ## the programs for 64-bit ARM, compiled on this machine with packages that are unpacked, not installed
	@scripts/release/unpack arm64 build/sysroot-arm64
	@cmake --preset arm64 $(CONFIGURE)
	@cmake --build build/arm64 -j $(JOBS) --target released

RELEASE ?= build/release-$(VERSION)
release: ## everything that a release page carries, in one folder: make release VERSION=1.2.3 [RELEASE=FOLDER] [OPTIONS=--allow-placeholders]
	@test -n "$(VERSION)" || { echo 'make release: VERSION is missing: make release VERSION=1.2.3' >&2; exit 2; }
	@$(MAKE) --no-print-directory released
	@scripts/fetch-test-tools
	@python3 scripts/release build "$(VERSION)" "$(RELEASE)" $(RELEASED) $(OPTIONS)

site: ## the documentation as static pages: build/site/index.html, a folder for each version
	@scripts/install-deps mkdocs mkdocs-material
	@python3 scripts/site build/site

headlamp: deps ## the plugin of Headlamp, checked by its own tools and packed in build/headlamp (npm installs 850 MB)
	@scripts/headlamp

check-release: released ## long checks of what is released: twice the same bytes, 64-bit ARM emulated, bills judged by others, older glibc, Helm from a registry, the site, the page with 5,000 nodes, the plugin of Headlamp
	@scripts/fetch-test-tools --release
	@python3 test/release/release_test.py build/hardened/bin --twice
	@python3 test/release/two_clones_test.py build/hardened
	@rm -rf build/check-release
	@python3 scripts/release build "$$(sed -n 's/^project(.* VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)" build/check-release --allow-placeholders $(RELEASED)
	@python3 test/release/bills_test.py build/check-release
	@python3 test/release/old_glibc_test.py build/check-release
	@python3 test/release/registry_test.py build/check-release build/hardened/bin
	@$(if $(CROSS),cmake --build build/arm64 -j $(JOBS) --target allocator_test --target cel_test --target api_test --target client_test)
	@$(if $(CROSS),python3 test/release/arm64_test.py build/check-release build/arm64 build/hardened/bin)
	@$(MAKE) --no-print-directory site
	@scripts/install-deps chromium
	@node web/test/scale_test.mjs build/hardened/bin/kubectl-dra
	@$(MAKE) --no-print-directory headlamp

asan: deps ## build and run the unit tests with AddressSanitizer and UndefinedBehaviorSanitizer
	@cmake --preset asan $(CONFIGURE)
	@cmake --build build/asan -j $(JOBS) --target unit_tests
	@$(SANITIZED) $(call checked_ctest,asan,build/asan/tests,-L unit)

tsan: deps ## the same with ThreadSanitizer
	@cmake --preset tsan $(CONFIGURE)
	@cmake --build build/tsan -j $(JOBS) --target unit_tests
	@$(SANITIZED) $(call checked_ctest,tsan,build/tsan/tests,-L unit)

check-bench: deps $(BUILD)/build.ninja ## benchmarks with a bar: fails when one misses it (a minute, on a quiet machine)
	@cmake --build $(BUILD) -j $(JOBS) --target inventory_bench --target mig_bench
	@$(BUILD)/bin/inventory_bench --cpu-time
	@$(BUILD)/bin/mig_bench

check-deep: ## long checks: sanitizers with all steps, five minutes of each fuzz target, the long hostile suite, check-bench, clang-tidy
	@$(MAKE) --no-print-directory asan tsan SANITIZED=
	@scripts/fuzz 300
	@cmake --preset release && cmake --build $(BUILD) -j $(JOBS) --target dra-controller-manager --target dra-sandbox
	@python3 test/hostile/connections_test.py $(BUILD)/bin --long
	@python3 test/hostile/authorization_test.py $(BUILD)/bin
	@python3 test/hostile/tenant_test.py $(BUILD)/bin --long
	@python3 test/hostile/pairs_test.py $(BUILD)/bin --long
	@python3 test/hostile/writers_test.py $(BUILD)/bin --long
	@python3 test/hostile/slow_watches_test.py $(BUILD)/bin --long
	@cmake --preset hardened && cmake --build build/hardened -j $(JOBS) --target dra-controller-manager --target dra-sandbox --target kubectl-dra
	@python3 test/hostile/elf_test.py --hardened build/hardened/bin/dra-controller-manager build/hardened/bin/dra-sandbox build/hardened/bin/kubectl-dra
	@$(MAKE) --no-print-directory check-bench
	@scripts/check-tidy

lint: deps ## formatting, dependencies, names in docs and comments, unity builds, dead declarations, Python scripts, self-contained headers
	@scripts/check-format
	@scripts/check-layers
	@scripts/check-docs
	@scripts/check-unity
	@scripts/check-dead
	@scripts/check-python
	@scripts/check-headers

format: ## reformat every C++ file
	@git ls-files '*.cc' '*.h' | xargs -r clang-format -i

bench: deps $(BUILD)/build.ninja ## build and run the benchmarks (minutes)
	@cmake --build $(BUILD) -j $(JOBS) --target benches --target dra-controller-manager --target dra-sandbox
	@scripts/bench $(BUILD)/bin

clean: ## remove what was built
	@rm -rf build
