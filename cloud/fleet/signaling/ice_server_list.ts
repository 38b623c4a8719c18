import * as z from "zod";
import { describeFsError } from "../../../shared/base/files/fs_error.ts";
import type { IceServerSetting } from "./ice_servers.ts";

/** The operator's list is wrong: where, and what it has to be. */
export class IceServersError extends Error {
  override readonly name = "IceServersError";
}

const DAY_SECONDS = 24 * 60 * 60;
const MOST_SERVERS = 16;

const URLS = z.string().regex(
  /^(stuns?|turns?):[^\s]{1,300}$/,
  "an address like stun:HOST:3478 or turn:HOST:3478?transport=udp",
);

const FORM = z.array(
  z.strictObject({
    urls: z.union([URLS.transform((url) => [url]), z.array(URLS).min(1).max(8)]),
    username: z.string().min(1).max(500).optional(),
    credential: z.string().min(1).max(500).optional(),
    secret: z.string().min(1).max(500).optional(),
    lifetime_seconds: z.int().min(60).max(30 * DAY_SECONDS).optional(),
  }).superRefine((server, context) => {
    const problem = problemOf(server);
    if (problem) context.addIssue({ code: "custom", message: problem });
  }),
).max(MOST_SERVERS);

function problemOf(server: {
  readonly urls: readonly string[];
  readonly username?: string | undefined;
  readonly credential?: string | undefined;
  readonly secret?: string | undefined;
  readonly lifetime_seconds?: number | undefined;
}): string | undefined {
  const { urls, username, credential, secret } = server;
  const isTurn = urls.some((url) => url.startsWith("turn"));
  if ((username === undefined) !== (credential === undefined)) {
    return "username and credential go together; give both or none";
  }
  if (secret !== undefined && username !== undefined) {
    return "a secret makes the credentials; leave username and credential out";
  }
  if (secret === undefined && server.lifetime_seconds !== undefined) {
    return "lifetime_seconds goes with a secret";
  }
  if (isTurn && secret === undefined && username === undefined) {
    return "a TURN server needs username and credential, or the secret it shares with the cloud";
  }
}

/**
 * Reads the operator's list: JSON, `[{"urls", "username", "credential"}]` or
 * `[{"urls", "secret", "lifetime_seconds"}]`; one address may stand for a list of one.
 *
 * @throws {IceServersError}
 */
export async function readIceServers(path: string): Promise<IceServerSetting[]> {
  let value: unknown;
  try {
    value = JSON.parse(await Deno.readTextFile(path));
  } catch (error) {
    // What the parser quotes may be a secret.
    if (error instanceof SyntaxError) throw new IceServersError(`${path} is no JSON`);
    throw new IceServersError(describeFsError(error, "read the list of ICE servers", path), {
      cause: error,
    });
  }
  const { success, data, error } = FORM.safeParse(value);
  if (!success) {
    const [issue] = error.issues;
    const where = (issue?.path ?? []).map((part) => `[${JSON.stringify(part)}]`).join("");
    throw new IceServersError(
      `${path}${where}: ${issue?.message}; a list is needed like ` +
        '[{"urls": ["turn:turn.example.com:3478"], "secret": "SHARED"}]',
    );
  }
  return data.map(({ urls, username, credential, secret, lifetime_seconds: lifetime }) =>
    secret === undefined
      ? {
        urls,
        ...(username !== undefined && { username }),
        ...(credential !== undefined && { credential }),
      }
      : { urls, secret, lifetimeSeconds: lifetime ?? DAY_SECONDS }
  );
}
