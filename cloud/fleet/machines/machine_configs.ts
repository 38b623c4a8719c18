import { parseReading } from "../../../shared/config/parse.ts";
import { toRobotConfig } from "../../../shared/config/to_robot_config.ts";
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import { create } from "@bufbuild/protobuf";
import {
  AuthConfigSchema,
  AuthHandlerConfigSchema,
  CredentialsType,
  type RobotConfig,
} from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { MachineKeys } from "../../accounts/access/machine_keys.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import type { SharedSecrets } from "../../accounts/access/secrets.ts";
import { hostPort } from "../../api/addresses/addresses.ts";
import type { RecentDocuments } from "../configuration/recent_documents.ts";
import { partRemotes } from "./part_remotes.ts";
import { hostNames } from "../../api/addresses/host_names.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { effectiveConfig, effectiveText } from "../fragments/effective_configs.ts";

export interface MachineConfigsOptions {
  readonly queries: Queries;
  readonly documents: RecentDocuments;
  readonly secrets: SharedSecrets;
  readonly machineKeys: Pick<MachineKeys, "of">;
  /** Fills in what packages and registry modules are, for the part that asks. */
  readonly packages: {
    complete(
      message: RobotConfig,
      config: MachineConfig,
      part: { orgId: string; platform: string | undefined },
    ): Promise<void>;
  };
  readonly domain: string;
  readonly publicUrl: () => string;
}

/**
 * Characters of configurations that are kept read, which takes a few times as much memory: those of
 * 10,000 small machines. One that is not kept takes a poll ten times the processor.
 */
const KEPT_CHARACTERS = 8 * 1024 * 1024;

/** The configuration messages that machines are sent. */
export class MachineConfigs {
  /** Read configurations: one never changes, is requested often, and may be that of many parts. */
  readonly #kept = new Map<string, { config: MachineConfig; length: number }>();
  #keptCharacters = 0;

  constructor(private readonly options: MachineConfigsOptions) {}

  async of(
    part: PartRow,
    { platform, secretsInClear }: {
      /** `os/architecture` of the part's host; undefined when it is not known. */
      readonly platform?: string | undefined;
      /** Whether the secrets of the location are in the message, and the machine's own key. */
      readonly secretsInClear: boolean;
    },
  ): Promise<RobotConfig> {
    const { queries, secrets, machineKeys, packages, domain, publicUrl } = this.options;
    const saved = await effectiveConfig(queries, part.id);
    const locationSecrets = secretsInClear ? await secrets.ofLocation(part.location_id) : [];
    const config = await this.#read(part.id, saved.key);
    const message = toRobotConfig(config, {
      partId: part.id,
      machineId: part.machine_id,
      locationId: part.location_id,
      primaryOrgId: part.org_id,
      ...hostNames(part.dns_label, part.location_id, domain),
      signalingAddress: hostPort(publicUrl()),
      signalingInsecure: publicUrl().startsWith("http:"),
      locationSecrets: locationSecrets.map(({ id, value }) => ({ id, secret: value })),
    }, { revision: saved.revision });
    const taken = new Set(config.remotes.map(({ name }) => name));
    const locationSecret = locationSecrets[0]?.value;
    message.remotes.push(...await partRemotes(queries, part, { domain, taken, locationSecret }));
    if (secretsInClear) {
      const { id, key } = await machineKeys.of({ id: part.machine_id, org_id: part.org_id });
      message.auth ??= create(AuthConfigSchema);
      message.auth.handlers.push(
        create(AuthHandlerConfigSchema, { type: CredentialsType.API_KEY, config: { [id]: key } }),
      );
    }
    await packages.complete(message, config, { orgId: part.org_id, platform });
    return message;
  }

  async #read(partId: string, key: string): Promise<MachineConfig> {
    const kept = this.#kept.get(key);
    if (kept) {
      // The least used comes first.
      this.#kept.delete(key);
      this.#kept.set(key, kept);
      return kept.config;
    }
    const text = await effectiveText(this.options.queries, partId);
    // What was saved was checked; what an older or newer version let through is left out.
    const { config } = parseReading(this.options.documents.reading(text), { source: "cloud" });
    this.#keep(key, { config, length: text.length });
    return config;
  }

  #keep(key: string, entry: { config: MachineConfig; length: number }): void {
    // Another call may have read the same meanwhile.
    this.#keptCharacters += entry.length - (this.#kept.get(key)?.length ?? 0);
    this.#kept.set(key, entry);
    for (const [oldest, { length }] of this.#kept) {
      if (this.#keptCharacters <= KEPT_CHARACTERS) break;
      this.#kept.delete(oldest);
      this.#keptCharacters -= length;
    }
  }
}
