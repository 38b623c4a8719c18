import { toChosenCredentials } from "../chosen_credentials.ts";
import type { DelayedCommit } from "../delayed_commit.ts";
import { ProvisioningInputError, type ProvisioningPort } from "../provisioning_port.ts";
import type { WrittenName } from "./identifiers.ts";

/** Devices whose values are kept at once; more have no room in a radio either. */
const MOST_DEVICES = 8;
const MOST_ERRORS = 5;
/** As the family's machines read it. */
const TRUE = /^(?:1|t|T|true|TRUE|True)$/;
const FALSE = /^(?:0|f|F|false|FALSE|False)$/;

/** A value that was sealed rightly, and cannot be used. The message has no secret. */
export class ValueError extends Error {
  override readonly name = "ValueError";
}

type Kept = Exclude<WrittenName, "exit_provisioning" | "unlock_pairing">;

export interface WrittenValuesOptions {
  readonly port: ProvisioningPort;
  readonly commit: Pick<DelayedCommit, "schedule">;
  /** A person lets one device pair now, or takes that back. */
  readonly onUnlock: (isUnlocked: boolean) => void;
}

/**
 * What phones have written, each phone's apart, until exit_provisioning gives it to the machine. The
 * values are opened already.
 */
export class WrittenValues {
  readonly #devices = new Map<string, Map<Kept, string>>();
  #errors: string[] = [];

  constructor(private readonly options: WrittenValuesOptions) {}

  /** What could not be used, newest first. */
  get errors(): readonly string[] {
    return this.#errors;
  }

  /** @throws {ValueError} */
  write(name: WrittenName, bytes: Uint8Array, device: string): void {
    this.options.port.userActive();
    try {
      const text = textOf(name, bytes);
      switch (name) {
        case "unlock_pairing":
          return this.options.onUnlock(booleanOf(text));
        case "exit_provisioning":
          return this.#finish(device);
        default:
          if (name === "ssid" && (bytes.length < 1 || bytes.length > 32)) {
            throw new ValueError("ssid has 1 to 32 bytes");
          }
          this.#valuesOf(device).set(name, text);
      }
    } catch (error) {
      const message = errorMessage(error);
      this.#errors = [message, ...this.#errors.filter((other) => other !== message)]
        .slice(0, MOST_ERRORS);
      throw new ValueError(message);
    }
  }

  #valuesOf(device: string): Map<Kept, string> {
    const values = this.#devices.get(device) ?? new Map<Kept, string>();
    this.#devices.delete(device);
    this.#devices.set(device, values);
    const [oldest] = this.#devices.keys();
    if (this.#devices.size > MOST_DEVICES && oldest !== undefined) this.#devices.delete(oldest);
    return values;
  }

  #finish(device: string): void {
    const { port, commit } = this.options;
    const values = this.#devices.get(device) ?? new Map<Kept, string>();
    const [id, secret, apiKey, address] = (["id", "secret", "api_key", "app_address"] as const)
      .map((name) => values.get(name) || undefined);
    // The credentials first: a network alone must not be tried out when they are refused.
    if (id ?? secret ?? apiKey ?? address) {
      const key = apiKey === undefined ? {} : { api_key: apiKeyOf(apiKey) };
      port.stageCredentials(
        toChosenCredentials({ cloud: { id, secret, app_address: address, ...key } }),
      );
    }
    const ssid = values.get("ssid");
    if (ssid !== undefined) {
      const seen = port.networks().find((network) => network.ssid === ssid);
      port.stageNetwork({
        ssid: seen?.ssidBytes ?? new TextEncoder().encode(ssid),
        psk: seen?.security === "open" ? "" : values.get("psk") ?? "",
        isHidden: seen === undefined,
      });
    }
    this.#devices.delete(device);
    this.#errors = [];
    port.clearErrors();
    commit.schedule();
  }
}

function textOf(name: WrittenName, bytes: Uint8Array): string {
  let text: string;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new ValueError(`${name} is no text in UTF-8`);
  }
  if (name !== "ssid" && /\p{Cc}/u.test(text)) {
    throw new ValueError(`${name} has a control character`);
  }
  return text;
}

function booleanOf(text: string): boolean {
  if (TRUE.test(text)) return true;
  if (FALSE.test(text)) return false;
  throw new ValueError("unlock_pairing is true or false");
}

function apiKeyOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new ValueError('api_key is JSON: {"id": "…", "key": "…"}');
  }
}

function errorMessage(error: unknown): string {
  if (error instanceof ValueError || error instanceof ProvisioningInputError) return error.message;
  throw error;
}
