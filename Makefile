# make          builds ./airtuned
# make demo     shows the effect on a simulated radio, on any machine
# make test     runs the tests
# make help     lists the rest

GO      ?= go
VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
LDFLAGS := -s -w -X main.version=$(VERSION)
# Only what the loop runs at every sample is inlined: the rest would grow by 5 %, which
# a router's flash has no room for.
GCFLAGS := $(shell cat packaging/gcflags)
# TAGS=bpf counts ath10k's frames by BPF (docs/bpf.md), and is not for routers.
TAGS    ?=
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false $(TAGS:%=-tags %) $(GCFLAGS) -ldflags '$(LDFLAGS)'

PREFIX    ?= /usr/local
BINDIR    ?= $(PREFIX)/bin
MANDIR    ?= $(PREFIX)/share/man
UNITDIR   ?= /etc/systemd/system
SYSUSERSDIR ?= /etc/sysusers.d
DOCDIR    ?= $(PREFIX)/share/doc/airtuned

PLATFORMS := amd64 arm64 arm mips mipsle riscv64
FUZZTIME  ?= 600

.PHONY: all
all: build

.PHONY: build
build: ## build ./airtuned
	$(BUILD) -o airtuned ./cmd/airtuned

.PHONY: web
web: ## build ./airtuned-web, the page and the metrics
	$(BUILD) -o airtuned-web ./cmd/airtuned-web

.PHONY: web-demo
web-demo: web ## the page of a daemon on a simulated radio, at http://localhost:9642 (SCENARIO=crowd)
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	$(GO) build -o "$$dir/simd" ./lab/simd && { \
		"$$dir/simd" -socket "$$dir/s" -scenario $(SCENARIO) & \
		echo "its socket: ./airtuned top --socket $$dir/s"; \
		./airtuned-web --socket "$$dir/s"; kill $$!; wait; }

.PHONY: web-test
web-test: ## click through the page with a browser (chromium)
	$(GO) -C web/browsertest vet .
	$(GO) -C web/browsertest test -count=1 .

.PHONY: web-screenshots
web-screenshots: ## take the pictures of the page into docs/monitoring/; three minutes
	$(GO) -C web/browsertest test -count=1 -run TestScreenshots . -args -screenshots $(CURDIR)/docs/monitoring

.PHONY: top-test
top-test: ## airtuned top on a simulated radio, in terminals as people have them (tmux)
	$(GO) test ./cmd/airtuned -count=1 -run '^TestTopInTmux$$' -args -tmux

.PHONY: prometheus-test
prometheus-test: ## have a Prometheus scrape three daemons on simulated radios, and ask it all that the dashboard asks
	$(GO) test -count=1 ./packaging/prometheus -args -scrape

.PHONY: demo
demo: build ## show the effect on a simulated radio (DEMO="--scenario slow-host")
	./airtuned demo $(DEMO)

.PHONY: test
test: ## run the tests
	$(GO) test ./...

.PHONY: race
race: ## run the tests under the race detector (needs a C compiler)
	$(GO) test -race ./...

.PHONY: faults
faults: ## fail every single operation of the daemon on the kernel's files, in every way (an hour)
	$(GO) test ./daemon -count=1 -run '^TestSweepFaults$$' -v -timeout 0 -args -faults

.PHONY: compare-test
compare-test: ## hold airtuned compare against 200 experiments in which there is no difference (half an hour at most)
	$(GO) test ./cmd/airtuned/internal/compare -count=1 -run '^TestFalsePositives$$' -v -timeout 0 -args -seeds 200 | grep -v '^ *---\|^=== '

SOAK ?= 24h

.PHONY: soak
soak: ## a day of random joins, rates and loads on the simulated radio, hour by hour (SOAK=2h)
	$(GO) test ./radiosim -count=1 -run '^TestSoak$$' -v -timeout 0 -args -soak $(SOAK)

dist/cost: FORCE
	@mkdir -p dist
	@CGO_ENABLED=0 $(GO) build -buildvcs=false $(GCFLAGS) -o dist/cost ./lab/cost

.PHONY: bench bench-memory bench-real
bench: bench-memory bench-real ## what the loop costs, beside preads in C, a shell loop and netlink, as benchstat reads it (BENCH="-rounds 5")

bench-memory: build dist/cost ## on files in memory, which cost nothing to read; and the daemon's memory and start
	@dist/cost -airtuned ./airtuned $(BENCH)

bench-real: dist/cost ## on mac80211's own files, in instructions, under QEMU (Debian; builds a small kernel once, seven minutes)
	@lab/cost/real.sh dist/cost -rounds 1 $(BENCH)

.PHONY: host-test
host-test: ## drown a CPU of this machine in softirqs, and see the daemon take work off it (as root; needs veth, iproute2, ethtool)
	$(GO) test -tags netns -count=1 -v -run '^TestSaturatedCPU$$' ./host

.PHONY: lint
lint: ## go vet, staticcheck, gofmt
	$(GO) vet ./...
	$(GO) vet -tags lab ./lab/...
	$(GO) vet -tags bpf ./cmd/airtuned
	$(GO) vet -tags netns ./host
	$(GO) tool staticcheck ./...
	$(GO) tool staticcheck -tags netns ./host
	$(GO) tool staticcheck -tags lab ./lab/...
	$(GO) tool staticcheck -tags bpf ./cmd/airtuned
	@unformatted=$$(gofmt -l .); \
	if [ -n "$$unformatted" ]; then echo "not gofmt'd: $$unformatted" >&2; exit 1; fi

.PHONY: lab
lab: ## build the lab's User Mode Linux kernel (Debian; cached outside the repository)
	lab/kernel/build.sh

.PHONY: lab-test
lab-test: lab ## boot it and run the real binary inside
	$(GO) test -tags lab -count=1 -timeout 20m ./lab/...

.PHONY: lab-soak
lab-soak: lab ## a day of everything that can happen to the daemon on a real kernel, its memory and files hour by hour (SOAK=2h)
	$(GO) test -tags lab -count=1 -timeout 0 -run '^TestLab$$/^TestEmulatedSoak$$' -v ./lab -args -soak $(SOAK)

LAB_SOURCES := linux-source-6.1 linux-source-6.12

.PHONY: lab-matrix
lab-matrix: ## the same on each Linux that Debian 12 has the source of
	@set -e; for source in $(LAB_SOURCES); do \
		echo "== $$source"; AIRTUNED_LAB_SOURCE=$$source $(MAKE) lab-test; \
	done

SCENARIO ?= one-fast

.PHONY: lab-run
lab-run: ## run one scenario, print its document (SCENARIO=crowd LAB="-limit 1500")
	@lab/kernel/build.sh >&2
	@$(GO) run ./lab/run -scenario $(SCENARIO) $(LAB)

.PHONY: lab-sweep
lab-sweep: ## all scenarios over all limits, into docs/lab/; hours, but it can be interrupted (LAB="-seeds 3")
	@lab/kernel/build.sh >&2
	@$(GO) run ./lab/sweep $(LAB)

.PHONY: lab-compare
lab-compare: ## hold radiosim against what lab-sweep measured, into docs/lab/radiosim.md
	@$(GO) run ./lab/compare $(LAB)

.PHONY: lab-judge
lab-judge: ## hold policies against the best static limits, into docs/lab/judge.md; hours, resumable (LAB="-no-run")
	@lab/kernel/build.sh >&2
	@$(GO) run ./lab/judge $(LAB)

.PHONY: lab-knobs
lab-knobs: ## what the kernel patches are good for, into docs/lab/knobs.md; resumable (LAB="-tables blind -jobs 1")
	@lab/kernel/build.sh >&2
	@$(GO) run ./lab/knobs $(LAB)

.PHONY: kernel-patches-test
kernel-patches-test: ## hold packaging/kernel against Debian's Linux sources: apply, checkpatch, compile (KERNELS=6.12; cached)
	@packaging/kernel/test.sh $(KERNELS)

.PHONY: bpf-test
bpf-test: ## attach package bpf's programs to ath10k in Debian's kernels, under QEMU (KERNELS=6.12; cached)
	@bpf/qemu/test.sh $(KERNELS)

.PHONY: lab-all
lab-all: lab-matrix lab-sweep lab-judge ## everything the lab can do

.PHONY: cross
cross: $(PLATFORMS:%=dist/airtuned-linux-%) ## build for every platform, into dist/

dist/airtuned-linux-% dist/full/airtuned-linux-%: FORCE
	@mkdir -p $(@D)
	GOOS=linux GOARCH=$* GOMIPS=softfloat GOARM=6 $(BUILD) -o $@ ./cmd/airtuned

dist/airtuned-web-linux-%: FORCE
	@mkdir -p dist
	GOOS=linux GOARCH=$* GOMIPS=softfloat GOARM=6 $(BUILD) -o $@ ./cmd/airtuned-web

# The binaries run, and say the same everywhere: what differs between machines is
# the size of int, the order of bytes and the alignment, and all are here.
QEMU := mips mipsle:mipsel arm arm64:aarch64 riscv64

.PHONY: cross-test
cross-test: cross build ## run the binaries of other machines under qemu-user, with all that those for MIPS leave out
	@command -v qemu-mips-static >/dev/null || { echo "qemu is missing: apt-get install qemu-user-static" >&2; exit 1; }
	@for pair in $(QEMU); do \
		$(MAKE) -s dist/full/airtuned-linux-$${pair%:*} TAGS="$(TAGS) full" && \
		packaging/cross.sh ./airtuned "qemu-$${pair#*:}-static dist/full/airtuned-linux-$${pair%:*}" || exit; \
	done

.PHONY: size
size: dist/airtuned-linux-mipsle ## the size of the smallest target's binary, plain and compressed
	@printf 'mipsle, stripped: %d bytes\n' $$(stat -c %s $<)
	@printf 'mipsle, xz -9:    %d bytes\n' $$(xz -9 --stdout $< | wc -c)

# Packages. Their version is a number that every format orders alike: the tag's, or
# 0.0.N after N commits.
PKGVERSION ?= $(shell git describe --tags --match 'v[0-9]*' 2>/dev/null | sed 's/^v//; s/-\([0-9]*\)-g.*/.\1/' | grep . || echo 0.0.$$(git rev-list --count HEAD 2>/dev/null))
# The same sources make the same bytes.
SOURCE_DATE_EPOCH ?= $(shell git log -1 --format=%ct 2>/dev/null)
# Asked once, so that a commit meanwhile does not make two versions.
VERSION := $(VERSION)
export PKGVERSION := $(PKGVERSION)
export SOURCE_DATE_EPOCH := $(SOURCE_DATE_EPOCH)
NFPM := $(GO) tool -modfile=packaging/nfpm.mod nfpm package
# Packages of OpenWrt are for one kind of CPU: ath79, ramips, ipq40xx, ipq806x,
# filogic, x86.
IPKS := mips_24kc:mips mipsel_24kc:mipsle arm_cortex-a7_neon-vfpv4:arm arm_cortex-a15_neon-vfpv4:arm \
	aarch64_cortex-a53:arm64 x86_64:amd64
# What Debian, Fedora and Alpine have, as nfpm calls it.
DISTROS := amd64:amd64 arm64:arm64 arm6:arm riscv64:riscv64

.PHONY: dist
dist: $(PLATFORMS:%=dist/build/%) $(foreach d,$(DISTROS),dist/build-web/$(lastword $(subst :, ,$(d)))) ## packages for Debian, Fedora, Alpine, OpenWrt, and archives, into dist/
	@rm -f dist/*.deb dist/*.rpm dist/*.apk dist/*.ipk dist/*.tar.xz
	@# apk has the scripts' own times.
	@mkdir -p dist/build/scripts && cp packaging/scripts/*.sh dist/build/scripts/ && \
		touch -d @$(SOURCE_DATE_EPOCH) dist/build/scripts/*
	@for pair in $(DISTROS); do for p in deb rpm apk; do \
		ARCH=$${pair%:*} BUILD=dist/build/$${pair#*:} $(NFPM) -f packaging/nfpm.yaml -p $$p -t dist/ || exit; \
		ARCH=$${pair%:*} BUILD=dist/build-web/$${pair#*:} $(NFPM) -f packaging/web/nfpm.yaml -p $$p -t dist/ || exit; \
	done; done
	@for pair in $(IPKS); do \
		ARCH=$${pair%:*} BUILD=dist/build/$${pair#*:} $(NFPM) -f packaging/nfpm.yaml -p ipk -t dist/ || exit; \
	done
	@$(NFPM) -f packaging/openwrt/nfpm-luci.yaml -p ipk -t dist/
	@for arch in $(PLATFORMS); do \
		tar -C dist/build/$$arch --sort=name --owner=0 --group=0 --numeric-owner --mtime=@$(SOURCE_DATE_EPOCH) \
			--transform 's|^\.|airtuned-$(PKGVERSION)|' -cf - . | xz -T1 >dist/airtuned-$(PKGVERSION)-linux-$$arch.tar.xz || exit; \
	done
	@cd dist && sha256sum *.deb *.rpm *.apk *.ipk *.tar.xz >SHA256SUMS
	@echo VERSION=$(VERSION) PKGVERSION=$(PKGVERSION) SOURCE_DATE_EPOCH=$(SOURCE_DATE_EPOCH) >dist/build/made-with

.PHONY: dist-check
dist-check: dist ## hold the packages against packaging/contents, and build them twice
	packaging/check.sh

.PHONY: debian-test
debian-test: dist ## install the package on Debian with systemd as PID 1, in the lab's kernel (RELEASE=trixie; as root)
	packaging/debian/test.sh dist/airtuned_*_amd64.deb $(RELEASE)

# What goes into the packages and is not in the repository. Completions are the
# same everywhere and come from the binary of this machine.
dist/build/%: dist/airtuned-linux-% build
	@rm -rf $@ && mkdir -p $@
	@cp $< $@/airtuned
	@gzip -9n <docs/man/airtuned.8 >$@/airtuned.8.gz
	@gzip -9n <docs/man/airtuned.yaml.5 >$@/airtuned.yaml.5.gz
	@for shell in bash zsh fish; do ./airtuned completion $$shell >$@/airtuned.$$shell || exit; done
	@cp LICENSE README.md config.example.yaml $@/

dist/build-web/%: dist/airtuned-web-linux-%
	@rm -rf $@ && mkdir -p $@
	@cp $< $@/airtuned-web
	@gzip -9n <docs/man/airtuned-web.8 >$@/airtuned-web.8.gz

.PHONY: fuzz
fuzz: ## run every fuzz test, FUZZTIME seconds in all (600)
	@set -e; list=$$(mktemp); trap 'rm -f "$$list"' EXIT; \
	$(GO) test -list '^Fuzz' ./... | \
		awk '/^Fuzz/ { name[n++] = $$1 } /^ok/ { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }' >$$list; \
	each=$$(( $(FUZZTIME) / $$(wc -l <$$list) )); \
	while read -r pkg f; do \
		echo "== $$pkg $$f, $$each s"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $${each}s $$pkg </dev/null; \
	done <$$list

# What make built is installed as it is: root often has neither Go nor Git's trust.
airtuned:
	$(BUILD) -o airtuned ./cmd/airtuned

.PHONY: install
install: airtuned ## install binary, manual page, systemd unit, example configuration (PREFIX, DESTDIR)
	install -D -m 0755 airtuned $(DESTDIR)$(BINDIR)/airtuned
	install -D -m 0644 docs/man/airtuned.8 $(DESTDIR)$(MANDIR)/man8/airtuned.8
	install -D -m 0644 docs/man/airtuned.yaml.5 $(DESTDIR)$(MANDIR)/man5/airtuned.yaml.5
	install -D -m 0644 config.example.yaml $(DESTDIR)$(DOCDIR)/config.example.yaml
	install -D -m 0644 packaging/systemd/airtuned.sysusers $(DESTDIR)$(SYSUSERSDIR)/airtuned.conf
	install -D -m 0644 packaging/systemd/airtuned.service $(DESTDIR)$(UNITDIR)/airtuned.service
	install -D -m 0644 packaging/systemd/airtuned.socket $(DESTDIR)$(UNITDIR)/airtuned.socket
	sed -i 's|/usr/bin/airtuned|$(BINDIR)/airtuned|' $(DESTDIR)$(UNITDIR)/airtuned.service

.PHONY: uninstall
uninstall: ## remove what install installed
	rm -f $(DESTDIR)$(BINDIR)/airtuned $(DESTDIR)$(MANDIR)/man8/airtuned.8 \
		$(DESTDIR)$(MANDIR)/man5/airtuned.yaml.5 $(DESTDIR)$(SYSUSERSDIR)/airtuned.conf \
		$(DESTDIR)$(UNITDIR)/airtuned.service $(DESTDIR)$(UNITDIR)/airtuned.socket
	rm -rf $(DESTDIR)$(DOCDIR)

.PHONY: clean
clean: ## remove what was built
	rm -rf airtuned airtuned-web dist

.PHONY: help
help: ## list these targets
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' Makefile | while IFS="$$(printf '\t')" read -r t h; do printf '%-10s %s\n' "$$t" "$$h"; done

.PHONY: FORCE
FORCE:
