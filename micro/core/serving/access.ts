import type { Messages } from "../../../shared/gen/micro/messages.ts";
import { machineRight } from "../../../shared/rights/machine_methods.ts";
import { type Role, roleAllows } from "../../../shared/rights/roles.ts";
import { base64, concat, fromBase64, hex, sameBytes } from "../bytes/bytes.ts";
import { fromUtf8, utf8 } from "../bytes/utf8.ts";
import type { Key } from "../machine_config.ts";
import type { Host } from "../host/host.ts";
import { RpcError } from "../rpc/errors.ts";

const FLASH_KEY = "access";
const MOST_KEYS = 64;
/** Keys of which is known that they are right; the oldest goes first. */
const MOST_VERIFIED = 16;
/** Sign-ins that wait for the cloud at the same time. */
const MOST_ASKED = 2;
const TOKEN_CHARACTERS = 600;

/** Who calls. */
export interface Caller {
  readonly entity: string;
  readonly role: Role;
}

export interface AccessOptions {
  readonly host: Host;
  /** What only this device and its cloud know: tokens are made of it, and stay valid over restarts. */
  readonly secret: string;
  /** Keys and secrets of the configuration that is in effect. */
  readonly keys: () => readonly Key[];
  /** Requests the cloud to check an API key. @throws RpcError */
  readonly verify: (id: string, key: string) => Promise<void>;
}

/** A key that the cloud lists, and its role on this machine. */
type Listed = Map<string, Role>;

/**
 * Who may call the machine. The cloud lists API keys as hashes that cost more memory than a device
 * has, so an unknown key is checked by the cloud once; afterwards the device knows it by a digest
 * and lets it in without the cloud, as long as the cloud's list has it.
 */
export class Access {
  readonly #tokenKey: Uint8Array;
  #listed: Listed = new Map();
  /** Digest by id of the key. */
  #verified = new Map<string, string>();
  #asked = 0;

  constructor(private readonly options: AccessOptions) {
    this.#tokenKey = options.host.sha256(utf8(`machine-micro-server access ${options.secret}`));
    this.#restore();
  }

  /** The cloud's list, which replaces the one before. */
  list({ keys }: Messages["machine.cloud.v1.ListAccessKeysResponse"]): void {
    this.#listed = new Map(
      keys.slice(0, MOST_KEYS).map(({ id, role }) => [id, role === 1 ? "owner" : "operator"]),
    );
    for (const id of [...this.#verified.keys()]) {
      if (!this.#listed.has(id)) this.#verified.delete(id);
    }
    this.#keep();
  }

  /** A token for the holder of a key or secret. @throws RpcError */
  async signIn(entity: string, type: string, payload: string): Promise<string> {
    const given = utf8(payload);
    for (const key of this.options.keys()) {
      if (key.type !== type || key.entity !== "" && key.entity !== entity) continue;
      if (sameBytes(this.#digest(given), this.#digest(utf8(key.secret)))) {
        return this.#token(type, entity, key.secret);
      }
    }
    const role = type === "api-key" ? this.#listed.get(entity) : undefined;
    if (!role || payload === "") throw new RpcError("unauthenticated", "invalid credentials");
    const digest = hex(this.#digest(utf8(`${entity} ${payload}`)));
    if (this.#verified.get(entity) !== digest) {
      await this.#ask(entity, payload);
      this.#verified.set(entity, digest);
      const [oldest] = this.#verified.keys();
      if (this.#verified.size > MOST_VERIFIED && oldest) this.#verified.delete(oldest);
      this.#keep();
    }
    return this.#token("listed", entity, digest);
  }

  /** Whose token it is; undefined: nobody's, or of a key that is not valid any more. */
  identify(authorization: string | undefined): Caller | undefined {
    const token = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1];
    if (!token || token.length > TOKEN_CHARACTERS) return undefined;
    const [head = "", mac = ""] = token.split(".");
    const bytes = fromBase64(head);
    const given = fromBase64(mac);
    if (!bytes || !given) return undefined;
    const [type = "", entity = ""] = fromUtf8(bytes).split("\n");
    const standing = this.#standing(type, entity);
    const found = standing.find(({ secret }) => sameBytes(given, this.#mac(bytes, secret)));
    return found && { entity, role: found.role };
  }

  /** @throws RpcError where the caller may not call the method */
  check(caller: Caller | undefined, path: string): void {
    const [, service = "", method = ""] = path.split("/");
    const right = machineRight(service, method);
    if (right === "open") return;
    if (!caller) throw new RpcError("unauthenticated", "authentication required");
    if (!roleAllows(caller.role, right)) {
      throw new RpcError(
        "permission_denied",
        `${method} needs the role owner; this key is an operator`,
      );
    }
  }

  #standing(type: string, entity: string): { readonly secret: string; readonly role: Role }[] {
    if (type !== "listed") {
      return this.options.keys().filter((key) =>
        key.type === type && (key.entity === "" || key.entity === entity)
      ).map(({ secret, role }) => ({ secret, role }));
    }
    const role = this.#listed.get(entity);
    const secret = this.#verified.get(entity);
    return role && secret !== undefined ? [{ secret, role }] : [];
  }

  async #ask(id: string, key: string): Promise<void> {
    if (this.#asked >= MOST_ASKED) {
      throw new RpcError("resource_exhausted", "others sign in at the moment; try again");
    }
    this.#asked++;
    try {
      await this.options.verify(id, key);
    } finally {
      this.#asked--;
    }
  }

  #token(type: string, entity: string, secret: string): string {
    const head = utf8(`${type}\n${entity}`);
    const plain = (bytes: Uint8Array) =>
      base64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
    return `${plain(head)}.${plain(this.#mac(head, secret))}`;
  }

  #mac(head: Uint8Array, secret: string): Uint8Array {
    return this.#digest(concat([this.#digest(utf8(secret)), head]));
  }

  /** Keyed, and hashed twice so that nobody appends to it. */
  #digest(bytes: Uint8Array): Uint8Array {
    const { host } = this.options;
    return host.sha256(concat([this.#tokenKey, host.sha256(concat([this.#tokenKey, bytes]))]));
  }

  #keep(): void {
    const text = JSON.stringify({ listed: [...this.#listed], verified: [...this.#verified] });
    const bytes = utf8(text);
    const { flash } = this.options.host;
    const kept = flash.read(FLASH_KEY);
    // Flash wears out by writing.
    if (bytes.length > flash.largestValue || kept && sameBytes(kept, bytes)) return;
    flash.write(FLASH_KEY, bytes);
  }

  #restore(): void {
    const kept = this.options.host.flash.read(FLASH_KEY);
    if (!kept) return;
    try {
      const { listed, verified } = JSON.parse(fromUtf8(kept)) as {
        listed: [string, Role][];
        verified: [string, string][];
      };
      this.#listed = new Map(listed);
      this.#verified = new Map(verified);
    } catch {
      // The cloud lists them again.
      this.#listed = new Map();
      this.#verified = new Map();
    }
  }
}
