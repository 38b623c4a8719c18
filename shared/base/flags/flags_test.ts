import assert from "node:assert/strict";
import { parseCommand, parseFlags, type ReadEnv, renderHelp, UsageError } from "./flags.ts";

const spec = {
  program: "machine-agent",
  summary: "Starts machine-server and keeps it running.",
  flags: {
    config: {
      type: "string",
      aliases: ["c"],
      default: "/etc/machine.json",
      doc: "Credentials.",
      placeholder: "FILE",
    },
    debug: { type: "boolean", aliases: ["d"], env: "MACHINE_AGENT_DEBUG", doc: "Debug logging." },
    ftdc: { type: "boolean", default: true, doc: "Full-time data capture." },
    retries: { type: "integer", min: 0, max: 9, doc: "Attempts." },
    channel: { type: "string", choices: ["stable", "dev"], default: "stable", doc: "Channel." },
    secret: { type: "boolean", hidden: true, doc: "Hidden." },
  },
} as const;

const noEnv: ReadEnv = () => undefined;
const parse = (...argv: string[]) => parseFlags(argv, spec, noEnv);
const usageError = (run: () => unknown): string => {
  try {
    run();
  } catch (error) {
    assert(error instanceof UsageError);
    assert.equal(error.exitCode, 2);
    return error.message;
  }
  throw new Error("no UsageError");
};

Deno.test("parseFlags() gives the same value for every way of writing a flag", () => {
  for (
    const argv of [
      ["-config", "a"],
      ["-config=a"],
      ["--config", "a"],
      ["--config=a"],
      ["-c", "a"],
      ["-c=a"],
    ]
  ) {
    assert.equal(parse(...argv).values.config, "a", argv.join(" "));
  }
});

Deno.test("parseFlags() takes the argument after a flag as its value even when it starts with a dash", () => {
  assert.equal(parse("-config", "-x").values.config, "-x");
  assert.equal(parse("--config", "--debug").values.config, "--debug");
  assert.equal(parse("--config=").values.config, "");
  assert.equal(parse("--config=a=b").values.config, "a=b");
});

Deno.test("parseFlags() makes a boolean false only by = when booleans are given", () => {
  assert.equal(parse().values.debug, false);
  assert.equal(parse("-d").values.debug, true);
  assert.equal(parse("--debug=false").values.debug, false);
  assert.equal(parse("-debug=F").values.debug, false);
  assert.equal(parse().values.ftdc, true);
  assert.equal(parse("-ftdc=0").values.ftdc, false);
  assert.match(
    usageError(() => parse("-debug", "false")),
    /unexpected argument "false"; a true-or-false option is written --debug=false/,
  );
});

Deno.test("parseFlags() lets the last one count when a flag is given twice", () => {
  assert.equal(parse("-c", "a", "--config=b").values.config, "b");
  assert.equal(parse("-d", "-debug=false").values.debug, false);
});

Deno.test("parseFlags() names the flag and what is allowed when a value is bad", () => {
  assert.match(
    usageError(() => parse("--retries", "x")),
    /"x" for --retries: a whole number from 0 to 9/,
  );
  assert.match(usageError(() => parse("--retries=10")), /from 0 to 9/);
  assert.match(usageError(() => parse("--retries=1.5")), /whole number/);
  assert.match(
    usageError(() => parse("--debug=maybe")),
    /"maybe" for --debug: allowed are true and false/,
  );
  assert.match(usageError(() => parse("--channel=beta")), /allowed are stable, dev/);
  assert.match(usageError(() => parse("--config")), /--config needs a value/);
  assert.match(usageError(() => parse("--retries")), /--retries needs a whole number/);
});

Deno.test("parseFlags() names the nearest flag when one is unknown", () => {
  assert.match(
    usageError(() => parse("-confg", "x")),
    /unknown option -confg \(did you mean --config\?\)/,
  );
  assert.match(usageError(() => parse("--conf=x")), /did you mean --config/);
  const far = usageError(() => parse("--zzzzzz"));
  assert.match(far, /unknown option --zzzzzz; machine-agent --help/);
  assert(!usageError(() => parse("--secre")).includes("did you mean"), "hidden flags stay hidden");
  assert.match(usageError(() => parse("--=x")), /unknown option --/);
});

Deno.test("parseFlags() takes the environment when the command line is silent", () => {
  const env = (value: string): ReadEnv => (name) =>
    name === "MACHINE_AGENT_DEBUG" ? value : undefined;
  assert.equal(parseFlags([], spec, env("1")).values.debug, true);
  assert.deepEqual([...parseFlags([], spec, env("1")).given], ["debug"]);
  assert.equal(parseFlags(["-debug=false"], spec, env("1")).values.debug, false);
  assert.equal(parseFlags([], spec, env("")).values.debug, false);
  assert.match(
    usageError(() => parseFlags([], spec, env("on"))),
    /"on" for the environment variable MACHINE_AGENT_DEBUG/,
  );
});

Deno.test("parseFlags() asks for nothing else when help is asked for", () => {
  const needy = {
    ...spec,
    flags: { data: { type: "string", required: true, doc: "Folder." } },
  } as const;
  const choosy = {
    ...spec,
    flags: { role: { type: "string", choices: ["a", "b"], required: true, doc: "Role." } },
  } as const;
  assert.match(usageError(() => parseFlags([], choosy, noEnv)), /--role a\|b must be given/);
  assert.equal(parseFlags(["-h"], needy, noEnv).help, true);
  assert.equal(parseFlags(["--help"], needy, noEnv).help, true);
  assert.match(usageError(() => parseFlags([], needy, noEnv)), /--data must be given/);
  assert.equal(parseFlags(["-data", "-h"], needy, noEnv).values.data, "-h");
});

Deno.test("parseFlags() refuses arguments beyond those of the spec", () => {
  const withFile = { ...spec, arguments: [{ placeholder: "FILE", doc: "The binary." }] } as const;
  assert.deepEqual(parseFlags(["a", "-d"], withFile, noEnv).arguments, ["a"]);
  assert.deepEqual(parseFlags(["--", "-d"], withFile, noEnv).arguments, ["-d"]);
  assert.equal(parseFlags(["--", "-d"], withFile, noEnv).values.debug, false);
  assert.match(usageError(() => parseFlags([], withFile, noEnv)), /FILE is missing/);
  assert.match(usageError(() => parse("x")), /unexpected argument "x"/);
});

Deno.test("parseFlags() types each value by its flag", () => {
  const { values } = parse();
  const config: string = values.config;
  const retries: number | undefined = values.retries;
  const channel: "stable" | "dev" = values.channel;
  assert.deepEqual([config, retries, channel], ["/etc/machine.json", undefined, "stable"]);
});

Deno.test("renderHelp() lists what is visible with defaults and environment", () => {
  assert.equal(
    renderHelp(spec),
    `Starts machine-server and keeps it running.

Usage:
  machine-agent [options]

Options:
  -c, --config FILE  Credentials. (default /etc/machine.json)
  -d, --debug        Debug logging. (environment MACHINE_AGENT_DEBUG)
  --ftdc             Full-time data capture. (default true)
  --retries N        Attempts.
  --channel VALUE    Channel. (one of stable, dev; default stable)
  -h, --help         Show this help.
`,
  );
});

const cloud = {
  program: "machine-cloud",
  summary: "The control plane.",
  commands: {
    "serve": {
      summary: "Serve.",
      flags: { listen: { type: "string", default: ":0", doc: "Address." } },
    },
    "release add": {
      summary: "Add.",
      flags: { data: { type: "string", required: true, doc: "Folder." } },
    },
  },
} as const;

Deno.test("parseCommand() gives the flags of the subcommand when its words come first", () => {
  const parsed = parseCommand(["release", "add", "--data=d"], cloud, noEnv);
  assert(parsed.command === "release add");
  const data: string = parsed.values.data;
  assert.equal(data, "d");
});

Deno.test("parseCommand() gives help and version when asked", () => {
  const text = (...argv: string[]) => {
    const parsed = parseCommand(argv, cloud, noEnv);
    assert(parsed.command === "help");
    return parsed.text;
  };
  assert.match(text("--help"), /serve {8}Serve\.\n {2}release add {2}Add\./);
  assert.match(text("serve", "-h"), /machine-cloud serve \[options\]/);
  assert.match(text("help", "release", "add"), /--data VALUE {2}Folder\. \(required\)/);
  assert.equal(parseCommand(["-version"], cloud, noEnv).command, "version");
});

Deno.test("parseCommand() lists the commands when none or an unknown one is given", () => {
  assert.match(
    usageError(() => parseCommand([], cloud)),
    /a command is needed: serve, release add/,
  );
  assert.match(
    usageError(() => parseCommand(["serv"], cloud)),
    /unknown command "serv" \(did you mean serve\?\)/,
  );
});

Deno.test("parseFlags() keeps every value of a list, in order", () => {
  const listed = {
    program: "machine-cloud",
    summary: "",
    flags: { arg: { type: "list", placeholder: "KEY=VALUE", doc: "An argument." } },
  } as const;
  const read = (...argv: string[]) => parseFlags(argv, listed, noEnv);
  assert.deepEqual(read().values.arg, []);
  assert.deepEqual([...read().given], []);
  const { values, given } = read("--arg", "a=1", "-arg=b=2", "--arg", "--c");
  assert.deepEqual(values.arg, ["a=1", "b=2", "--c"]);
  assert.deepEqual([...given], ["arg"]);
  assert.match(renderHelp(listed), /--arg KEY=VALUE +An argument\. \(may be given several times\)/);
});
