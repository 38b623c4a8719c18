/** What a project is called, and where its program is built. */
export interface ProjectNames {
  readonly name: string;
  /** First part of the models' names. */
  readonly namespace: string;
  /** Checkout of the sources that it is built with; empty: not known yet. */
  readonly sources: string;
}

/** The files of a new project with a driver of its own, by their path. */
export function projectFiles(names: ProjectNames): Readonly<Record<string, string>> {
  return {
    "deno.json": denoJson(names),
    "Makefile": makefile(names),
    "program.ts": PROGRAM,
    "pulse_counter.ts": driver(names),
    "pulse_counter_test.ts": DRIVER_TEST,
    "config.json": config(names),
    "README.md": readme(names),
    ".gitignore": "/dist/\n/sources\n/state/\n/machine.json\n/update-key.pem\n",
  };
}

function modelOf({ namespace, name }: ProjectNames): string {
  return `${namespace}:${name}:pulse-counter`;
}

function denoJson({ name }: ProjectNames): string {
  const json = {
    name: `@local/${name}`,
    version: "0.1.0",
    exports: "./program.ts",
    imports: {
      "machine-micro": "./sources/micro/core/project.ts",
      "machine-micro/testing": "./sources/micro/core/testing.ts",
    },
    compilerOptions: { strict: true },
    exclude: ["dist", "sources"],
  };
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

function makefile({ name, sources }: ProjectNames): string {
  return `# Builds machine-micro-server with the drivers of this project.

# A checkout of the sources of machine-micro-server.
SOURCES ?= ${sources}
# linux-x64, linux-arm64, linux-armv7 or all; empty: this host.
TARGET ?=
# Private key that signs an update; empty: not signed.
KEY ?=

.PHONY: build test run
build: sources
	@$(MAKE) --no-print-directory -C sources micro PROJECT="$(CURDIR)" TARGET="$(TARGET)" \\
	  KEY="$(if $(KEY),$(abspath $(KEY)))"

test: sources
	@sources/tools/deno.sh test --no-lock --quiet

# With the credentials in machine.json.
run: build
	dist/${name}-linux-$(if $(filter aarch64,$(shell uname -m)),arm64,x64) \\
	  -config machine.json -state state

sources:
	@[ -f "$(SOURCES)/tools/micro/main.ts" ] || { \\
	  echo "say where the sources of machine-micro-server are: make SOURCES=DIR" >&2; exit 1; }
	@ln -sfn "$(abspath $(SOURCES))" sources
`;
}

const PROGRAM = `import type { ProgramParts } from "machine-micro";
import { pulseCounter } from "./pulse_counter.ts";

/** What this program has next to the models that are built in. */
export default { models: [pulseCounter] } satisfies ProgramParts;
`;

function driver(names: ProjectNames): string {
  return `import { model } from "machine-micro";

const PER_MINUTE_MS = 60_000;

/**
 * Counts pulses: of a water meter, an anemometer, a light barrier. Attributes: \`pin\` of the board
 * or, without hardware, \`simulate_hz\`; \`per_pulse\`, what one pulse stands for (1).
 */
export const pulseCounter = model(
  "rdk:component:sensor",
  "${modelOf(names)}",
  ({ attributes, host, log }) => {
    const perPulse = attributes.number("per_pulse", { default: 1 });
    let pulses = 0;
    /** When the last pulses were, in milliseconds since the start; none older than a minute. */
    let recent: number[] = [];
    const pulse = () => {
      pulses++;
      recent = [...recent.slice(-999), host.now()];
    };
    const stop = attributes.has("pin")
      ? watchPin(attributes.text("pin"))
      : simulate(attributes.number("simulate_hz", { min: 0.01, max: 100, default: 1 }));

    function watchPin(pin: string): () => void {
      if (!host.gpio) throw new Error("this device has no pins; use simulate_hz");
      host.gpio.mode(pin, "in-pull-up");
      // A contact that closes pulls the pin down.
      const watch = host.gpio.watch(pin, (high) => high ? undefined : pulse());
      return () => watch.close();
    }

    function simulate(hz: number): () => void {
      log("info", "there is no pin: the pulses are simulated");
      let timer = 0;
      const next = () => {
        timer = host.setTimer(1_000 / hz, () => {
          pulse();
          next();
        });
      };
      next();
      return () => host.clearTimer(timer);
    }

    return {
      getReadings() {
        recent = recent.filter((at) => host.now() - at < PER_MINUTE_MS);
        return { readings: { total: pulses * perPulse, per_minute: recent.length * perPulse } };
      },
      close: stop,
    };
  },
);
`;
}

const DRIVER_TEST = `import assert from "node:assert/strict";
import { construct, FakeHost } from "machine-micro/testing";
import { pulseCounter } from "./pulse_counter.ts";

Deno.test("pulseCounter counts edges of its pin, and those of the last minute", async () => {
  const host = new FakeHost();
  let edge: (high: boolean) => void = () => assert.fail("nobody watches the pin");
  host.gpio = {
    mode: (pin, mode) => assert.deepEqual([pin, mode], ["17", "in-pull-up"]),
    read: () => true,
    write: () => assert.fail("it writes to an input"),
    watch: (_pin, onChange) => {
      edge = (high) => onChange(high, 0);
      return { close: () => void (edge = () => undefined) };
    },
  };
  const sensor = construct(pulseCounter, { pin: 17, per_pulse: 2.5 }, host);
  edge(false);
  edge(true);
  edge(false);
  assert.deepEqual(await sensor.call("GetReadings"), {
    readings: { total: 5, per_minute: 5 },
  });
  await host.advance(61_000);
  assert.deepEqual(await sensor.call("GetReadings"), {
    readings: { total: 5, per_minute: 0 },
  });
  sensor.close();
  edge(false);
  assert.deepEqual(await sensor.call("GetReadings"), {
    readings: { total: 5, per_minute: 0 },
  });
});

Deno.test("pulseCounter simulates pulses without a pin", async () => {
  const host = new FakeHost();
  const sensor = construct(pulseCounter, { simulate_hz: 2 }, host);
  await host.advance(3_000);
  assert.deepEqual(await sensor.call("GetReadings"), {
    readings: { total: 6, per_minute: 6 },
  });
});
`;

function config(names: ProjectNames): string {
  const json = {
    components: [{
      name: "meter",
      api: "rdk:component:sensor",
      model: modelOf(names),
      attributes: { simulate_hz: 2, per_pulse: 0.5 },
    }],
  };
  return `${JSON.stringify(json, undefined, 2)}\n`;
}

function readme(names: ProjectNames): string {
  const { name } = names;
  return `# ${name}

machine-micro-server with a driver of its own: \`pulse_counter.ts\` is the model
\`${modelOf(names)}\`. \`program.ts\` lists the models, \`deno.json\` has the version.

\`\`\`
make test                         # the driver on a simulated device
make                              # dist/${name}-linux-x64; or TARGET=linux-arm64, linux-armv7, all
machine machines create ${name} --credentials-out machine.json
machine config set ${name} config.json
make run                          # online, with readings in the console
\`\`\`

It needs git, make, Python 3.9, cargo 1.82 or newer, and a checkout of the sources of
machine-micro-server, which \`sources\` leads to; \`make SOURCES=DIR\` says where it is.

Drivers are plain ES2023 with what \`machine-micro\` gives them: the device has no timers, network or
files of a browser, Deno or Node, only those of \`host\`. \`make\` refuses others.

## Updates

Give \`deno.json\` the new version, then:

\`\`\`
make
machine micro publish dist/${name}-linux-x64
\`\`\`

uploads the program to the cloud and prints the service that brings it to the machines which have it
in their configuration. To have devices take signed updates only, make a key before the first
program is installed:

\`\`\`
openssl genpkey -algorithm ed25519 -out update-key.pem         # keep it secret and safe
openssl pkey -in update-key.pem -pubout -out update-key.pub    # \`make\` builds it in
make KEY=update-key.pem
\`\`\`
`;
}
