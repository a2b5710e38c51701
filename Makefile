# Thin: every line is a command that can be typed by hand.
.DEFAULT_GOAL := help
.PHONY: help setup build build-all demo install package wheel test check check-all bench bench-data bench-exchange bench-scaling bench-plan bench-split bench-many bench-advice bench-onnx bench-first-hour studies lint format clean
PRESET ?= release
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local

help:           ## this list
	@sed -n 's/^\([a-z-]*\):[^#]*## \(.*\)/  make \1\t\2/p' Makefile | expand -t 20

setup:          ## install what is missing (silent when nothing is)
	@tools/bootstrap

build: setup    ## configure and build the program (PRESET=release|debug|asan-ubsan|tsan)
	@test -f build/$(PRESET)/build.ninja || cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET) -j $(JOBS) --target syrtos

build-all:      ## configure and build everything, tests and benchmarks included
	@tools/bootstrap test
	@test -f build/$(PRESET)/tests/cmake_install.cmake || cmake --preset $(PRESET)
	@cmake --build --preset $(PRESET) -j $(JOBS)

demo: build     ## train LeNet-5 on MNIST
	@build/$(PRESET)/syrtos data get mnist
	build/$(PRESET)/syrtos train examples/mnist-lenet5.toml

install: build  ## install the program and the library (PREFIX=/usr/local, DESTDIR=)
	@cmake --build --preset $(PRESET) -j $(JOBS) --target syrtos_library
	@cmake --install build/$(PRESET) --prefix $(PREFIX)

package: build  ## one file that runs on any x86-64 Linux with nothing installed: build/dist/syrtos
	@cmake --build --preset $(PRESET) -j $(JOBS) --target syrtos_launcher
	@tools/package --build build/$(PRESET)

wheel:          ## the Python package as a wheel, in build/dist
	@tools/bootstrap python
	@tools/wheel

test:           ## build and run every test; a skipped one is a failure (TEST="-R world" for some)
	@$(MAKE) --no-print-directory build-all
	tests/all $(PRESET) $(TEST)

check:          ## formatting, clang-tidy on what changed, and under asan-ubsan what handles memory
	@tools/bootstrap test lint
	tools/lint --changed
	@test -f build/asan-ubsan/build.ninja || cmake --preset asan-ubsan
	@cmake --build --preset asan-ubsan -j $(JOBS) --target sanitized_tests
	tests/all asan-ubsan $(TEST)

check-all: test ## all there is: also every unit test under asan-ubsan, six folders under tsan
	@$(MAKE) --no-print-directory check
	tools/lint
	@$(MAKE) --no-print-directory build-all PRESET=asan-ubsan-kernels
	tests/all asan-ubsan-kernels $(TEST)
	@test -f build/tsan/build.ninja || cmake --preset tsan
	@cmake --build --preset tsan -j $(JOBS) --target threaded_tests
	tests/all tsan $(TEST)

bench: build    ## training steps side by side with PyTorch and TensorFlow (BENCH="--quick ...")
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@python3 bench/train_step.py $(BENCH)

bench-data: build ## input pipelines side by side with theirs, on CIFAR-10 (BENCH="--only training ...")
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@build/release/syrtos data get cifar10
	@python3 bench/data_load.py $(BENCH)

bench-exchange: build-all ## all-reduce side by side with Gloo and Open MPI (BENCH="--quick ...")
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@python3 bench/exchange.py $(BENCH)

bench-many: build ## searches, ensembles and teachers (BENCH="search together"; Optuna with PEERS_PYTHON)
	@python3 bench/many.py $(BENCH)

bench-split: build ## networks in parts and by columns on four and eight hosts, beside PyTorch's pipelining
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@python3 bench/split.py $(BENCH)

bench-plan: build-all ## what plans predict, beside what is measured on real hosts (BENCH="--settings 1gbit ...")
	@python3 bench/plan_truth.py $(BENCH)

bench-onnx: build-all ## torchvision's networks through ONNX: outputs, gradients, steps beside others (BENCH="--only vit_b_16 ...")
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@python3 bench/onnx_networks.py $(BENCH)

bench-advice: build ## what explain's first advice promises, beside what following it gains (BENCH="--cases alexnet ...")
	@python3 bench/advice.py $(BENCH)

bench-scaling: build ## training on 1 to 8 hosts side by side with PyTorch's DDP (BENCH="--quick ...")
	@$(if $(PEERS_PYTHON),,tools/bootstrap bench)
	@python3 bench/scaling.py $(BENCH)

studies: build  ## the studies of docs/studies (QUICK=1: small; STUDY="a b": some)
	@for study in $(or $(STUDY),a b d l); do QUICK=$(QUICK) python3 -B studies/$${study}_*.py || exit 1; done

bench-first-hour: ## what building costs, from nothing and after one change (BENCH="--jobs 2 ...")
	@tools/bootstrap test
	@bench/first_hour $(BENCH)

lint:           ## formatting and clang-tidy over everything (LINT="--changed" or files)
	@tools/bootstrap lint
	@tools/lint $(LINT)

format:         ## reformat every source file
	@tools/bootstrap lint
	@git ls-files -co --exclude-standard -- '*.h' '*.cc' '*.inc' ':!build' | xargs -r clang-format -i

clean:          ## delete what was built; keeps dependencies and data
	rm -rf build/wheel build/dist build/release build/debug build/asan-ubsan build/asan-ubsan-kernels build/tsan build/lint
