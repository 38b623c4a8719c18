import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { parse, validRange } from "semver";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import { versionControlFields } from "../../../shared/config/agent_fields.ts";
import type { Program, ReleaseChannel } from "../../storage/database/release_schema.ts";

/** Which version of a program a machine's configuration requests. */
export type VersionSelector =
  & {
    /** As it is written, without what could be secret in an address. */
    readonly asked: string;
  }
  & (
    | {
      readonly kind: "channel";
      readonly channel: ReleaseChannel;
      /** Nobody wrote it down: it is the default. */
      readonly isDefault: boolean;
    }
    /** The highest release on stable that a range of npm allows. */
    | { readonly kind: "range"; readonly range: string }
    | { readonly kind: "exact"; readonly version: string }
    | {
      readonly kind: "address";
      readonly url: string;
      /** Hexadecimal; empty: not stated. */
      readonly sha256: string;
    }
    | { readonly kind: "wrong"; readonly problem: string }
  );

/** What a configuration says about versions. */
export interface PartSelectors {
  readonly byProgram: Readonly<Record<Program, VersionSelector>>;
  /** `agent.tags`. */
  readonly tags: readonly string[];
}

/** Reads the `agent` object of a configuration. */
export function selectorsOf(config: JsonObject): PartSelectors {
  const agent = objectAt(config, "agent");
  const versions = objectAt(agent, "version_control");
  const server = versions["machine-server"] ??
    versions[versionControlFields["machine-server"].alias];
  const tags = agent["tags"];
  return {
    byProgram: {
      "machine-agent": parseSelector(versions["agent"]),
      "machine-server": parseSelector(server),
    },
    tags: Array.isArray(tags) ? tags.filter((tag) => typeof tag === "string") : [],
  };
}

/** Reads one entry of `agent.version_control`; nothing there is `stable`. */
export function parseSelector(value: JsonValue | undefined): VersionSelector {
  if (value === undefined || value === null || value === "") {
    return { kind: "channel", channel: "stable", isDefault: true, asked: "stable" };
  }
  if (typeof value !== "string") {
    const asked = JSON.stringify(value);
    return { kind: "wrong", asked, problem: `${asked} is no version` };
  }
  const asked = value.trim();
  if (asked === "stable" || asked === "dev") {
    return { kind: "channel", channel: asked, isDefault: false, asked };
  }
  if (/^(https?|file):\/\//i.test(asked)) return parseAddress(asked);
  const version = parse(asked)?.version;
  if (version !== undefined) return { kind: "exact", version, asked };
  if (validRange(asked) !== null) return { kind: "range", range: asked, asked };
  const problem = `${JSON.stringify(asked)} is no version; write 1.2.3, a range as ^1.2, stable, ` +
    "dev, or an address http://…, https://… or file:///…";
  return { kind: "wrong", asked, problem };
}

/** `#sha256=…` behind an address says what the file must be. */
function parseAddress(address: string): VersionSelector {
  const asked = withoutSecrets(address);
  const [url = "", fragment] = address.split("#");
  if (fragment === undefined) return { kind: "address", url, sha256: "", asked };
  const [, sha256] = /^sha256=([0-9a-f]{64})$/i.exec(fragment) ?? [];
  if (sha256 !== undefined) {
    return { kind: "address", url, sha256: sha256.toLowerCase(), asked };
  }
  const problem = `the part behind # of ${asked} is not understood; write ` +
    "#sha256= and 64 hexadecimal digits, or leave it out";
  return { kind: "wrong", asked, problem };
}

/** An address as everybody may see it who sees the machine: without user, query and fragment. */
export function withoutSecrets(address: string): string {
  return address.replace(/[?#].*$/, "").replace(/([a-z]+:\/\/)[^/@]*@/i, "$1");
}

function objectAt(parent: JsonObject, key: string): JsonObject {
  const value = parent[key];
  return isJsonObject(value) ? value : {};
}
