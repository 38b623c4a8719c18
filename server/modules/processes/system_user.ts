/** The users of the host. */
import { readFile } from "node:fs/promises";

/** Who a program runs as. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  /** The user's own group; the program gets no other. */
  readonly gid: number;
  readonly home: string;
  /** This program runs as that user already. */
  readonly isSelf: boolean;
}

/** Finds a user by name or number. Rejects with what is wrong and what to do. */
export type FindUser = (name: string) => Promise<SystemUser>;

/** What {@link findSystemUser} queries of the system. */
export interface UserFacts {
  readonly os: string;
  /** Of this program; null where there are no such numbers. */
  readonly uid: number | null;
  /** Lines of `name:password:uid:gid:comment:home:shell`. */
  readonly readUsers: () => Promise<string>;
}

const systemFacts = (): UserFacts => ({
  os: Deno.build.os,
  uid: Deno.uid(),
  readUsers: () => readFile("/etc/passwd", "utf8"),
});

/**
 * The user of that name whom this program may run others as: any when it runs as root, else only
 * its own.
 */
export async function findSystemUser(
  name: string,
  facts: UserFacts = systemFacts(),
): Promise<SystemUser> {
  if (facts.os !== "linux") {
    throw new Error(`username ${name} works on Linux only; leave it out`);
  }
  const found = parseUsers(await facts.readUsers())
    .find((one) => one.name === name || String(one.uid) === name);
  if (!found) throw new Error(`there is no user ${name} on this host; add it or name another`);
  const user = { ...found, isSelf: found.uid === facts.uid };
  if (facts.uid === 0 || user.isSelf) return user;
  throw new Error(
    `only root may run programs as ${name}; run the server as root or leave username out`,
  );
}

function parseUsers(text: string): Omit<SystemUser, "isSelf">[] {
  return text.split("\n").flatMap((line) => {
    const [name, , uid, gid, , home] = line.split(":");
    if (!name || !uid || !gid || home === undefined) return [];
    return [{ name, uid: Number(uid), gid: Number(gid), home }];
  });
}
