import { ConnectError } from "@connectrpc/connect";
import { parseChosenCredentials } from "../chosen_credentials.ts";
import {
  type ChosenCredentials,
  type ChosenNetwork,
  ProvisioningInputError,
  type ProvisioningPort,
} from "../provisioning_port.ts";
import type { FormProblem } from "./messages.ts";
import type { Entered } from "./page.ts";

/** A credentials file has less than 1 KB. */
const MOST_BODY_BYTES = 64 * 1024;

/** The form cannot be taken; a person fixes it. */
export class FormError extends Error {
  override readonly name = "FormError";
  /** @param detail in English, without secrets. */
  constructor(readonly kind: FormProblem, readonly detail?: string) {
    super(kind);
  }
}

/**
 * The whole body of a request.
 *
 * @throws {FormError} when it is too large or does not come to its end.
 */
export async function readBody(request: Request): Promise<Uint8Array<ArrayBuffer>> {
  if (Number(request.headers.get("content-length") ?? 0) > MOST_BODY_BYTES) {
    throw new FormError("too-large");
  }
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  try {
    for await (const piece of request.body ?? []) {
      bytes += piece.length;
      if (bytes > MOST_BODY_BYTES) throw new FormError("too-large");
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof FormError) throw error;
    throw new FormError("unreadable", error instanceof ConnectError ? error.rawMessage : undefined);
  }
  return new Uint8Array(await new Blob(pieces as Uint8Array<ArrayBuffer>[]).arrayBuffer());
}

/** The fields of a form, each text once. */
export class Fields {
  private constructor(private readonly data: FormData) {}

  /** @throws {FormError} */
  static async read(request: Request): Promise<Fields> {
    const body = await readBody(request);
    const type = request.headers.get("content-type") ?? "";
    try {
      return new Fields(await new Response(body, { headers: { "content-type": type } }).formData());
    } catch {
      throw new FormError("unreadable");
    }
  }

  /** Empty where there is none. */
  text(name: string): string {
    const value = this.data.get(name);
    return typeof value === "string" ? value : "";
  }

  /** A text, or the content of a file. */
  async content(name: string): Promise<string> {
    const value = this.data.get(name);
    return value instanceof File ? await value.text() : value ?? "";
  }
}

/** What comes back to the page when something is wrong. */
export function enteredIn(fields: Fields): Entered {
  return { network: fields.text("network").slice(0, 64), name: fields.text("name").slice(0, 64) };
}

/** What a person chose. */
export interface Choice {
  /** Undefined: the connection that there is. */
  readonly network: ChosenNetwork | undefined;
  readonly credentials: ChosenCredentials | undefined;
}

/**
 * Checks the form.
 *
 * @throws {FormError}
 */
export async function readChoice(
  fields: Fields,
  port: Pick<ProvisioningPort, "status" | "networks">,
): Promise<Choice> {
  const { isOnline, hasCredentials, holdsCredentials } = port.status();
  const wanted = fields.text("network");
  const keeps = wanted === "keep" && isOnline;
  const network = keeps ? undefined : chosenNetwork(fields, wanted, port);
  const given = hasCredentials ? "" : await givenCredentials(fields);
  const isEnough = hasCredentials || (holdsCredentials && given === "");
  const credentials = isEnough ? undefined : chosenCredentials(given);
  return { network, credentials };
}

function chosenNetwork(
  fields: Fields,
  wanted: string,
  port: Pick<ProvisioningPort, "networks">,
): ChosenNetwork {
  const psk = fields.text("password");
  if (wanted === "other") {
    const ssid = new TextEncoder().encode(fields.text("name"));
    if (ssid.length < 1 || ssid.length > 32) throw new FormError("name-length");
    return { ssid, psk: checkedPassword(psk), isHidden: true };
  }
  if (!/^(?:[0-9a-f]{2}){1,32}$/.test(wanted)) throw new FormError("no-network");
  const ssid = Uint8Array.fromHex(wanted);
  const seen = port.networks().find(({ ssidBytes }) => ssidBytes.toHex() === wanted);
  if (seen?.security === "open") return { ssid, psk: "", isHidden: false };
  if (seen?.security === "wep" || seen?.security === "enterprise") {
    throw new FormError("unsupported-security");
  }
  if (seen && psk === "") throw new FormError("password-missing");
  return { ssid, psk: checkedPassword(psk), isHidden: false };
}

function checkedPassword(psk: string): string {
  const bytes = new TextEncoder().encode(psk).length;
  const isGood = bytes === 0 || (bytes >= 8 && bytes <= 63) || /^[0-9a-fA-F]{64}$/.test(psk);
  if (!isGood || /\p{Cc}/u.test(psk)) throw new FormError("password-length");
  return psk;
}

async function givenCredentials(fields: Fields): Promise<string> {
  const file = (await fields.content("file")).trim();
  return file === "" ? fields.text("credentials").trim() : file;
}

function chosenCredentials(text: string): ChosenCredentials {
  if (text === "") throw new FormError("credentials-missing");
  try {
    return parseChosenCredentials(text);
  } catch (error) {
    if (!(error instanceof ProvisioningInputError)) throw error;
    throw new FormError("credentials-wrong", error.message);
  }
}
