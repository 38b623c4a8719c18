import { testSaving } from "./testing.ts";

testSaving([
  // Modules and packages.
  {
    what: "modules",
    json: {
      modules: [{
        name: "a",
        type: "local",
        executable_path: "/a",
        env: { A: "1" },
        log_level: "debug",
        first_run_timeout: "5m",
      }, {
        name: "b",
        type: "registry",
        module_id: "acme:b",
        version: "latest",
        first_run_timeout: 60_000_000_000,
      }],
    },
    paths: [],
  },
  {
    what: "module name of 200",
    json: { modules: [{ name: "n".repeat(200), executable_path: "/a" }] },
    paths: [],
  },
  {
    what: "module name of 201",
    json: { modules: [{ name: "n".repeat(201), executable_path: "/a" }] },
    paths: ["modules[0].name"],
  },
  {
    what: "module named parent",
    json: { modules: [{ name: "parent", executable_path: "/a" }] },
    paths: ["modules[0].name"],
  },
  {
    what: "module of unknown type",
    json: { modules: [{ name: "a", type: "magic", executable_path: "/a" }] },
    paths: ["modules[0].type"],
  },
  {
    what: "local module without program",
    json: { modules: [{ name: "a", type: "local" }] },
    paths: ["modules[0].executable_path"],
  },
  {
    what: "registry module without id",
    json: { modules: [{ name: "a", type: "registry" }] },
    paths: ["modules[0].module_id"],
  },
  {
    what: "module timeout",
    json: { modules: [{ name: "a", executable_path: "/a", first_run_timeout: "5 min" }] },
    paths: ["modules[0].first_run_timeout"],
  },
  {
    what: "module marked bad by the cloud",
    json: { modules: [{ name: "a", executable_path: "/a", status: { error: "x" } }] },
    paths: [],
  },
  {
    what: "module env a number",
    json: { modules: [{ name: "a", executable_path: "/a", env: { A: 1 } }] },
    paths: ["modules[0].env.A"],
  },
  {
    what: "two modules of one name",
    json: { modules: [{ name: "a", executable_path: "/a" }, { name: "a", executable_path: "/b" }] },
    paths: ["modules[1].name"],
  },
  {
    what: "package types",
    json: {
      packages: ["ml_model", "module", "slam_map", "archive"].map((type) => ({
        name: type,
        package: "o/p",
        type,
      })),
    },
    paths: [],
  },
  {
    what: "package of unknown type",
    json: { packages: [{ name: "a", package: "o/p", type: "zip" }] },
    paths: ["packages[0].type"],
  },
  {
    what: "package without id",
    json: { packages: [{ name: "a", package: "", type: "module" }] },
    paths: ["packages[0].package"],
  },
  // Remotes, processes.
  {
    what: "remote",
    json: {
      remotes: [{
        name: "r",
        address: "h:1",
        prefix: "p",
        frame: { parent: "world" },
        auth: { entity: "e", credentials: { type: "api-key", payload: "k" } },
        connection_check_interval: "10s",
        reconnect_interval: "1s",
      }],
    },
    paths: [],
  },
  {
    what: "remote without address",
    json: { remotes: [{ name: "r" }] },
    paths: ["remotes[0].address"],
  },
  {
    what: "remote frame without parent",
    json: { remotes: [{ name: "r", address: "h", frame: {} }] },
    paths: ["remotes[0].frame.parent"],
  },
  {
    what: "remote credentials",
    json: {
      remotes: [{
        name: "r",
        address: "h",
        auth: { credentials: { type: "magic", payload: "k" } },
      }],
    },
    paths: ["remotes[0].auth.credentials.type"],
  },
  {
    what: "remote interval",
    json: { remotes: [{ name: "r", address: "h", reconnect_interval: "-1s" }] },
    paths: ["remotes[0].reconnect_interval"],
  },
  {
    what: "two remotes of one name",
    json: { remotes: [{ name: "r", address: "h" }, { name: "r", address: "i" }] },
    paths: ["remotes[1].name"],
  },
  {
    what: "process",
    json: {
      processes: [
        { id: "1", name: "sleep", args: ["1"], stop_signal: "TERM", stop_timeout: "1s" },
        { id: "2", name: "x", stop_signal: 9 },
      ],
    },
    paths: [],
  },
  {
    what: "process signal",
    json: {
      processes: ["ODD", 99].map((stop_signal) => ({
        id: `${stop_signal}`,
        name: "x",
        stop_signal,
      })),
    },
    paths: ["processes[0].stop_signal", "processes[1].stop_signal"],
  },
  {
    what: "two processes of one id",
    json: { processes: [{ id: "1", name: "x" }, { id: "1", name: "y" }] },
    paths: ["processes[1].id"],
  },
]);
