# The commands of this project; `make help` explains them. Needs git, make, and npm or curl.

DENO := tools/deno.sh
FROZEN := $(if $(filter true,$(CI)),--frozen)

.DEFAULT_GOAL := help
.PHONY: help setup run console screenshots test test-training test-upgrade lint fmt proto docs bench simulate faults ftdc server agent cloud cli micro micro-firmware micro-esp32 dist images release site smoke \
	clean check-console \
	check-lint check-format check-types check-generated check-imports

help:
	@sed -n 's/^#> //p' Makefile

#> make run      start cloud, agent and server with a demo machine  [PORT= MACHINE_DEV_DIR= ARGS=--check]
#> make console  serve the console from its sources while you change them [MACHINE_CLOUD_URL=]
#> make test     run all tests     [FILTER=text PATHS="shared/rpc …" SINCE=main TIMES=docs DATABASE=postgres]
#> make test-training  train models of all kinds; installs TensorFlow [PATHS=]
#> make test-upgrade  upgrade two nodes of a cloud, from the version before  [MACHINE_TEST_UPGRADE_FROM=commit]
#> make lint     lint, format, types, generated code, import rules
#> make fmt      format the code
#> make proto    generate shared/gen from proto/
#> make docs     write the generated tables of docs/ from the code
#> make bench    measure, print figures as JSON lines               [ARGS=]
#> make simulate  run a cloud with simulated machines, disturb them  [MACHINES=1000 SECONDS=60]
#> make faults   kill machines in updates at random moments         [ARGS="--kills N --seed N"]
#> make ftdc     show full-time data capture [FILE=file or folder SVG=out.svg METRIC=text]
#> make screenshots  take the screenshots in docs/console/ [ARGS=names]
#> make server   compile dist/machine-server-TARGET                 [TARGET=linux-x64|linux-arm64|windows-x64|darwin-arm64|darwin-x64]
#> make agent    likewise machine-agent
#> make cloud    likewise machine-cloud
#> make cli      likewise machine, the command line for people
#> make micro    make dist/machine-micro-server-TARGET, for small computers; needs cargo and Python [TARGET=linux-x64|linux-arm64|linux-armv7|all]
#> make micro-firmware  make its firmware for the board mps2-an385 of QEMU; needs gcc-arm-none-eabi, too [CREDENTIALS=machine.json CA_FILE=roots.pem NO_TLS=1]
#> make micro-esp32  make its firmware for an ESP32-S3 with PSRAM; needs ESP-IDF 5.3 to 5.5 [CREDENTIALS=machine.json CA_FILE=roots.pem WIFI_SSID=… WIFI_PASSWORD=… NO_TLS=1]
#> make dist     compile all four for all targets, as a release    [ALLOW_FALLBACK_RUNTIME=1]
#> make images   compile cloud and server, make container images of them in dist/images/ [PIN=1]
#> make release  tag a version and build its download folder       VERSION=1.2.3 KEY=FILE [URL=https://… PROGRAMS=cli TARGETS=linux-x64]
#> make site     build the site of the documentation into dist/site [BASE=/path/]
#> make smoke    compile all four for all targets and try them
#> make setup    fetch Deno and the libraries, build the console (the others do it where needed)
#> make clean    remove what was built

setup:
	@tools/setup.sh

# The demo starts the programs itself and ends them at Ctrl-C; make gets the signal too and waits.
run:
	@tools/setup.sh programs $(if $(findstring --binaries,$(ARGS)),,machine-cloud machine-agent machine-server)
	@$(DENO) run -A $(FROZEN) --quiet tools/run/main.ts $(ARGS)

console: setup
	@$(DENO) run -A $(FROZEN) --quiet --no-check tools/console/main.ts --serve

screenshots: setup
	@$(DENO) run -A $(FROZEN) --quiet --no-check tools/screenshots/main.ts $(ARGS)

test: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/test/main.ts $(if $(FILTER),--filter '$(FILTER)') \
		$(if $(filter docs,$(TIMES)),--docs) $(if $(DATABASE),--database $(DATABASE)) \
		$(if $(SINCE),--since '$(SINCE)') $(PATHS)

test-training: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/test/main.ts $(or $(PATHS),tests/training)

test-upgrade: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/test/main.ts tests/upgrade

lint: check-lint check-format check-types check-console check-generated check-imports

check-lint: setup
	@$(DENO) lint

check-format: setup
	@$(DENO) fmt --check

# All but console/, which is checked with Svelte's own tool.
check-types: setup check-console
	@$(DENO) check $(FROZEN) --quiet agent cloud cli server shared tests tools

check-console: setup
	@tools/check_console.sh

check-generated: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/proto/main.ts --check
	@$(DENO) run -A $(FROZEN) --quiet --no-check tools/docs/main.ts --check

check-imports: setup
	@$(DENO) test -A $(FROZEN) --no-check --quiet tests/habits/imports_test.ts

fmt: setup
	@$(DENO) fmt --quiet

proto: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/proto/main.ts

docs: setup
	@$(DENO) run -A $(FROZEN) --quiet --no-check tools/docs/main.ts

bench: setup
	@$(DENO) run -A $(FROZEN) --quiet tests/bench/main.ts $(ARGS)

simulate: setup
	@$(DENO) run -A $(FROZEN) --quiet tests/simulate/main.ts \
		$(if $(MACHINES),--machines $(MACHINES)) $(if $(SECONDS),--seconds $(SECONDS))

faults: setup
	@$(DENO) run -A $(FROZEN) --quiet --no-check tests/faults/updates/random_kills.ts $(ARGS)

ftdc: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/ftdc/main.ts $(if $(SVG),-svg '$(SVG)') \
		$(if $(METRIC),-metric '$(METRIC)') '$(FILE)'

server agent cloud cli: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/compile/main.ts $(if $(TARGET),--target $(TARGET)) $@

micro: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/micro/main.ts $(if $(TARGET),--target $(TARGET)) \
	  $(if $(PROJECT),--project "$(PROJECT)") $(if $(KEY),--key "$(KEY)")

micro-firmware: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/micro/firmware/main.ts \
	  $(if $(CREDENTIALS),--credentials "$(CREDENTIALS)") $(if $(CA_FILE),--ca-file "$(CA_FILE)") \
	  $(if $(NO_TLS),--no-tls)

micro-esp32: setup
	@WIFI_PASSWORD='$(WIFI_PASSWORD)' $(DENO) run -A $(FROZEN) --quiet tools/micro/esp32/main.ts \
	  $(if $(CREDENTIALS),--credentials "$(CREDENTIALS)") $(if $(CA_FILE),--ca-file "$(CA_FILE)") \
	  $(if $(WIFI_SSID),--wifi-ssid '$(WIFI_SSID)') $(if $(NO_TLS),--no-tls)

dist: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/compile/main.ts --release --target all

images: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/release/images/main.ts $(if $(PIN),--pin)

release: setup
	@$(DENO) run -A $(FROZEN) --quiet tools/release/main.ts $(if $(PROGRAMS),--programs '$(PROGRAMS)') \
		$(if $(TARGETS),--targets '$(TARGETS)') '$(VERSION)' '$(KEY)' '$(URL)'

# Its libraries are its own, fetched with the first build.
site: setup
	@$(DENO) run -A $(FROZEN) --quiet --no-check tools/site/main.ts '$(BASE)'

smoke: setup
	@tools/arm64_emulator.sh >/dev/null
	@$(DENO) run -A $(FROZEN) --quiet tools/test/main.ts --side-by-side tests/build

# Keeps Deno and the libraries, and the demo's data in .machine/.
clean:
	@rm -rf dist coverage .tools/bundle .tools/console .tools/setup.stamp .tools/setup_programs.stamp
