import {
  type AgentSettings,
  networkConfigurationFields,
} from "../../../shared/config/agent_fields.ts";
import { Redactor } from "../../../shared/base/redaction/redactor.ts";

/** Settings change seldom; a process that lives for years must not keep all it ever had. */
const MOST_VALUES = 400;
/** A shorter line of a secret of several lines may stand in other texts, too. */
const SHORTEST_LINE = 8;

/**
 * Values that no log line, reason or status shows. What was secret once stays so while the agent
 * runs: the server, and what it wrote, may still have the old value.
 */
export class KnownSecrets {
  readonly #tellLogging: (values: Iterable<string>) => void;
  readonly #redactor = new Redactor();
  readonly #values = new Set<string>();

  /** @param tellLogging gets all values, to hide them in every log line. */
  constructor(tellLogging: (values: Iterable<string>) => void) {
    this.#tellLogging = tellLogging;
  }

  add(values: Iterable<string>): void {
    const before = this.#values.size;
    for (const value of values) {
      for (const part of [value, ...linesOf(value)]) this.#values.add(part);
    }
    if (this.#values.size === before) return;
    for (const oldest of this.#values) {
      if (this.#values.size <= MOST_VALUES) break;
      this.#values.delete(oldest);
    }
    this.#redactor.setKnown(this.#values);
    this.#tellLogging(this.#values);
  }

  /** The text with `******` where secrets stood. */
  hide(text: string): string {
    return this.#redactor.text(text);
  }
}

/** The values of settings that are secret. */
export function secretsOf(settings: AgentSettings): string[] {
  const { hotspot_password: hotspot } = settings.network_configuration;
  const isOwn = hotspot !== networkConfigurationFields.hotspot_password.default;
  return [
    ...Object.values(settings.advanced_settings.machine_server_env),
    ...Object.values(settings.additional_networks).map(({ psk }) => psk),
    ...(isOwn ? [hotspot] : []),
  ];
}

/** A key of several lines is printed line by line. */
function linesOf(value: string): string[] {
  if (!value.includes("\n")) return [];
  return value.split(/\r?\n/).map((line) => line.trim()).filter(({ length }) =>
    length >= SHORTEST_LINE
  );
}
