/**
 * What each area of the tree may import of its own program, types counted. An area is a folder of a
 * program or of `shared/`. Every area of a program may import all of `shared/`, and `main.ts` all of
 * its program. `tests/habits/imports_test.ts` tests the tree against this table; ARCHITECTURE.md
 * prints it.
 */
const TABLE: Readonly<Record<string, string>> = {
  "agent/cloud": "networks server system updates",
  "agent/dbus": "",
  "agent/networks": "dbus provisioning settings state",
  "agent/options": "server settings updates",
  "agent/provisioning": "dbus",
  "agent/run":
    "cloud dbus networks options provisioning server service settings state status system updates",
  "agent/server": "settings state updates",
  "agent/service": "options settings system updates",
  "agent/settings": "state",
  "agent/state": "",
  "agent/status": "cloud networks options service state system updates",
  "agent/system": "",
  "agent/updates": "settings state",
  "cli/asking": "",
  "cli/config": "asking",
  "cli/fleet": "asking config",
  "cli/logs": "",
  "cli/micro": "",
  "cli/profiles": "",
  "cli/program": "asking config fleet logs micro profiles reach",
  "cli/reach": "config",
  "cloud/accounts": "api storage",
  "cloud/api": "",
  "cloud/data": "accounts api registry storage",
  "cloud/fleet": "accounts api nodes storage",
  "cloud/inference": "accounts api data registry storage",
  "cloud/local": "accounts api fleet serve storage",
  "cloud/nodes": "storage",
  "cloud/operations": "api fleet storage",
  "cloud/registry": "accounts api fleet storage",
  "cloud/releases": "accounts fleet nodes registry storage",
  "cloud/serve":
    "accounts api data fleet inference nodes operations registry releases storage training triggers web",
  "cloud/storage": "",
  "cloud/training": "accounts api data registry storage triggers",
  "cloud/triggers": "accounts api data fleet storage",
  "cloud/web": "accounts api fleet releases",
  "console/api": "texts",
  "console/app": "api design navigation pages texts",
  "console/configuration": "api design texts",
  "console/design": "api navigation texts",
  "console/map": "api",
  "console/navigation": "texts",
  "console/pages": "api configuration design map navigation plots reach texts",
  "console/plots": "design navigation texts",
  "console/reach": "api",
  "console/texts": "",
  "micro/core": "",
  "micro/hosts": "core",
  "server/appimage": "",
  "server/cloud": "resources serving",
  "server/config": "modules resources",
  "server/data": "resources",
  "server/diagnostics": "data resources serving",
  "server/models": "data resources",
  "server/modules": "resources",
  "server/remotes": "config modules resources serving",
  "server/resources": "",
  "server/run": "cloud config data diagnostics modules remotes resources serving",
  "server/serving": "config modules resources",
  "shared/base": "",
  "shared/capture_file": "base",
  "shared/cloud": "base log rpc",
  "shared/commands": "base registry transfer",
  "shared/config": "base log",
  "shared/image": "base",
  "shared/inference": "base image",
  "shared/log": "base",
  "shared/openapi": "",
  "shared/registry": "base",
  "shared/rights": "",
  "shared/rpc": "base log rtc",
  "shared/rtc": "base log",
  "shared/transfer": "base cloud",
  "shared/workers": "base log",
};

/** An area and the areas that it may import. */
export interface AreaRule {
  /** From the root: "cloud/fleet". */
  readonly area: string;
  /** From the root, of the same program or, for one of `shared/`, of `shared/`. */
  readonly may: readonly string[];
}

/** The table, in its order. */
export function areaRules(): AreaRule[] {
  return Object.entries(TABLE).map(([area, names]) => {
    const program = area.split("/")[0] ?? "";
    return { area, may: names.split(" ").filter(Boolean).map((name) => `${program}/${name}`) };
  });
}

/** The table for ARCHITECTURE.md. */
export function areaTable(): string {
  const row = ({ area, may }: AreaRule) =>
    `| \`${area}\` | ${may.map((path) => `\`${path.split("/")[1]}\``).join(" ") || "–"} |`;
  return ["| area | may import |", "| --- | --- |", ...areaRules().map(row)].join("\n");
}
