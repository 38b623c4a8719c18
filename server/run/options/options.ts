/** The command line of machine-server. */
import {
  type FlagSpec,
  type FlagValues,
  parseFlags,
  type ReadEnv,
} from "../../../shared/base/flags/flags.ts";

const flags = {
  "allow-insecure-creds": {
    type: "boolean",
    doc: "Allow credentials over plaintext connections.",
  },
  config: {
    type: "string",
    placeholder: "FILE",
    doc: "Configuration file: cloud credentials or a full configuration.",
  },
  cpuprofile: {
    type: "string",
    placeholder: "FILE",
    doc: "Write a CPU profile of the run to this file, for Chrome DevTools.",
  },
  debug: { type: "boolean", doc: "Log everything, whatever the configuration sets." },
  "disable-mdns": {
    type: "boolean",
    doc: "Disable discovery through multicast DNS: open no socket for it.",
  },
  "dump-resources": {
    type: "string",
    placeholder: "FILE",
    doc: "Write all resource registrations as JSON to this file and exit.",
  },
  ftdc: { type: "boolean", default: true, doc: "Full-time data capture for diagnostics." },
  "log-file": {
    type: "string",
    placeholder: "FILE",
    doc: "Write logs to this file, rotated, instead of standard output.",
  },
  "network-check": { type: "boolean", doc: "Only check the network, print the findings and exit." },
  "no-tls": { type: "boolean", doc: "Serve without TLS even if certificates are there." },
  "output-telemetry": { type: "boolean", doc: "Print metrics, every 10 s, and spans." },
  "reveal-sensitive-config-diffs": {
    type: "boolean",
    doc: "Log what changed in the configuration, with attributes and environment in clear.",
  },
  shareddir: {
    type: "string",
    placeholder: "FOLDER",
    doc: "Location of static web assets, served under /static/.",
  },
  "untrusted-env": {
    type: "boolean",
    doc: "Disable processes, shell and modules in an untrusted environment.",
  },
  version: { type: "boolean", doc: "Print the version and exit." },
  webprofile: {
    type: "boolean",
    doc: "Include the profiler in the HTTP server: /debug/pprof and /debug/graph, for this host.",
  },
  webrtc: {
    type: "boolean",
    default: true,
    doc: "Answer callers over WebRTC, which SDKs use instead of direct connections, and reach " +
      "remotes by it.",
  },
} as const;

export const commandLine: FlagSpec<typeof flags> = {
  program: "machine-server",
  summary: "Runs one machine: its resources, their API, its connection to the cloud.",
  dashes: "-",
  flags,
  footer: "State is kept in $MACHINE_HOME, by default ~/.machine.\n" +
    "An application image has --aix-install, --aix-update, --aix-uninstall and --appimage-help, too.",
};

/** What the command line says. */
export interface ServerOptions {
  readonly values: FlagValues<typeof flags>;
  readonly help: boolean;
}

/**
 * Reads the command line.
 *
 * @throws {UsageError}
 */
export function parseOptions(argv: readonly string[], env?: ReadEnv): ServerOptions {
  const { values, help } = parseFlags(argv, commandLine, env);
  return { values: withoutEmpty(values), help };
}

/** `-log-file=` is the same as no `-log-file`, as everywhere in Go's flag package. */
function withoutEmpty<T extends object>(values: T): T {
  const entries = Object.entries(values).map(([name, value]) => [
    name,
    value === "" ? undefined : value,
  ]);
  return Object.fromEntries(entries);
}
