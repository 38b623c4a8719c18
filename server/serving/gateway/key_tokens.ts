import { Code, ConnectError, createClient, type Transport } from "@connectrpc/connect";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";

/** A key that was revoked opens no new calls after this. Milliseconds. */
const KEEP_MS = 60_000;
/** Most keys that are remembered. */
const MOST = 100;

/** Signs callers in who send an API key with each request, and remembers for a minute who did. */
export class KeyTokens {
  readonly #known = new Map<string, { readonly token: string; readonly untilMs: number }>();

  constructor(private readonly nowMs: () => number) {}

  /**
   * What stands for the caller in the header `authorization`; undefined when there is nothing.
   * A key comes as `key-id` and `key`, or as user and password (`curl -u`).
   *
   * @throws {ConnectError} UNAUTHENTICATED when the key is wrong.
   */
  async of(headers: Headers, transport: Transport): Promise<string | undefined> {
    const authorization = headers.get("authorization") ?? undefined;
    const key = keyIn(headers, authorization);
    if (!key) return authorization;
    const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(key.join("\0")));
    const hash = new Uint8Array(digest).toHex();
    const known = this.#known.get(hash);
    if (known && known.untilMs > this.nowMs()) return known.token;
    this.#known.delete(hash);
    const [entity, payload] = key;
    const { accessToken } = await createClient(AuthService, transport).authenticate({
      entity,
      credentials: { type: "api-key", payload },
    });
    const token = `Bearer ${accessToken}`;
    if (this.#known.size >= MOST) this.#known.delete([...this.#known.keys()][0] ?? "");
    this.#known.set(hash, { token, untilMs: this.nowMs() + KEEP_MS });
    return token;
  }
}

function keyIn(headers: Headers, authorization: string | undefined): [string, string] | undefined {
  const [id, key] = [headers.get("key-id") ?? headers.get("key_id"), headers.get("key")];
  if (id && key) return [id, key];
  const basic = /^Basic +(\S+)$/i.exec(authorization ?? "")?.[1];
  if (basic === undefined) return undefined;
  try {
    const [, user = "", password = ""] = /^([^:]*):(.*)$/s.exec(atob(basic)) ?? [];
    return [user, password];
  } catch {
    throw new ConnectError("authorization: it is no Basic authorization", Code.Unauthenticated);
  }
}
