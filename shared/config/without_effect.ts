import { type ConfigProblem, type Path, problemAt } from "./problem.ts";

/** A field that configurations of the public form have and this release takes without acting on it. */
export interface IgnoredField {
  /** `[]` stands for every entry of a list. */
  readonly path: string;
  /** What happens instead, as the end of a sentence. */
  readonly why: string;
  /** Only these values of it. */
  readonly value?: unknown;
}

const AT_ONCE = "readings go into the file at once, without a queue";
const OF_CAPTURE = "service_configs[].attributes.capture_methods[]";

/** Every field without effect; a test holds that a field which no program reads is here. */
export const WITHOUT_EFFECT: readonly IgnoredField[] = [
  {
    path: "fragments",
    why: "fragments are merged by a cloud; a machine that reads this directly gets none of it",
  },
  { path: "fragment_mods", why: "fragments are merged by a cloud" },
  { path: "remotes[].managed_by", why: "the address determines how the remote is reached" },
  { path: "auth.tls_auth_entities", why: "client certificates are not accepted by this release" },
  { path: "auth.external_auth_config", why: "tokens of others are not accepted by this release" },
  {
    path: "cloud.managed_by",
    why: "the address of the cloud determines where the machine belongs",
  },
  ...["managed-all", "managed-security"].map((value) => ({
    path: "agent.system_configuration.os_auto_upgrade_type",
    why: "the agent starts no upgrades itself; use all or security",
    value,
  })),
  {
    path: "triggers[].notifications[].type",
    why: "nobody is notified by push in this release; use webhook or email",
    value: "push",
  },
  ...["components[]", "services[]"].flatMap((list) => [
    { path: `${list}.${OF_CAPTURE}.capture_queue_size`, why: AT_ONCE },
    { path: `${list}.${OF_CAPTURE}.capture_buffer_size`, why: AT_ONCE },
    {
      path: `${list}.${OF_CAPTURE}.name`,
      why: "the method is captured of the resource that the entry stands at",
    },
  ]),
  {
    path: "services[].attributes.mongo_capture_config",
    why: "readings are kept by the cloud and in files only",
  },
];

/** The fields of a configuration that are taken without effect, each with what happens instead. */
export function withoutEffect(json: unknown): ConfigProblem[] {
  return WITHOUT_EFFECT.flatMap((field) => {
    const steps = field.path.replaceAll("[]", ".[]").split(".");
    return found(json, steps, []).filter(({ value }) =>
      !isEmpty(value) && (field.value === undefined || field.value === value)
    ).map(({ value, path }) => problemAt(path, value, `has no effect: ${field.why}`));
  });
}

interface Found {
  readonly value: unknown;
  readonly path: Path;
}

function found(json: unknown, steps: readonly string[], path: Path): Found[] {
  const [step, ...rest] = steps;
  if (step === undefined || typeof json !== "object" || json === null) return [];
  const holder = json as Record<string, unknown>;
  const keys = step === "[]"
    ? Array.isArray(json) ? [...json.keys()] : []
    : Array.isArray(json)
    ? []
    : Object.hasOwn(holder, step)
    ? [step]
    : [];
  return keys.flatMap((key) => {
    const value = holder[key];
    const at = [...path, key];
    return rest.length === 0 ? [{ value, path: at }] : found(value, rest, at);
  });
}

/** What says the same as nothing. */
function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null || value === "" || value === false) return true;
  return typeof value === "object" && Object.keys(value).length === 0;
}
