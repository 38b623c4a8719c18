/** Reads SDDL, the language-neutral text of a Windows security descriptor. */

/** Who may do what with a file or folder, as far as this program judges it. */
export interface SecurityDescriptor {
  /** As `S-1-5-32-544`. */
  readonly owner: string;
  readonly allows: readonly Allowance[];
}

/** An entry that allows something. */
export interface Allowance {
  /** As `S-1-5-32-544`. */
  readonly sid: string;
  /** ACCESS_MASK, generic rights included. */
  readonly mask: number;
  /** It is for what is below, not for the folder itself. */
  readonly inheritOnly: boolean;
}

export const Sid = {
  system: "S-1-5-18",
  administrators: "S-1-5-32-544",
  users: "S-1-5-32-545",
  trustedInstaller: "S-1-5-80-956008885-3418522649-1831038044-1853292631-2271478464",
} as const;

/** Those who can do everything on a host anyway. */
export const isTrusted = (sid: string): boolean =>
  sid === Sid.system || sid === Sid.administrators || sid === Sid.trustedInstaller;

/** Aliases of [MS-DTYP] 2.5.1.1 that occur in file systems. */
const ALIASES: Readonly<Record<string, string>> = {
  SY: Sid.system,
  BA: Sid.administrators,
  BU: Sid.users,
  AU: "S-1-5-11",
  WD: "S-1-1-0",
  CO: "S-1-3-0",
  CG: "S-1-3-1",
  OW: "S-1-3-4",
  NU: "S-1-5-2",
  IU: "S-1-5-4",
  SU: "S-1-5-6",
  AN: "S-1-5-7",
  LS: "S-1-5-19",
  NS: "S-1-5-20",
  BG: "S-1-5-32-546",
  PU: "S-1-5-32-547",
  SO: "S-1-5-32-549",
  BO: "S-1-5-32-551",
  AC: "S-1-15-2-1",
};

/** Rights of [MS-DTYP] 2.5.1.1; those of directory objects are the low bits of files. */
const RIGHTS: Readonly<Record<string, number>> = {
  GA: 0x1000_0000,
  GX: 0x2000_0000,
  GW: 0x4000_0000,
  GR: 0x8000_0000,
  RC: 0x2_0000,
  SD: 0x1_0000,
  WD: 0x4_0000,
  WO: 0x8_0000,
  FA: 0x1f_01ff,
  FR: 0x12_0089,
  FW: 0x12_0116,
  FX: 0x12_00a0,
  CC: 0x1,
  DC: 0x2,
  LC: 0x4,
  SW: 0x8,
  RP: 0x10,
  WP: 0x20,
  DT: 0x40,
  LO: 0x80,
  CR: 0x100,
};

/** DELETE, WRITE_DAC, WRITE_OWNER, FILE_DELETE_CHILD, GENERIC_ALL: to put another in its place. */
const REPLACING = 0x1_0000 | 0x4_0000 | 0x8_0000 | 0x40 | 0x1000_0000;

/** Whether who has these rights to a folder can exchange it, or a folder in it, for another. */
export const canReplace = ({ mask, inheritOnly }: Allowance): boolean =>
  !inheritOnly && (mask & REPLACING) !== 0;

/** @throws {Error} the text is none that this program understands; then nothing may be trusted. */
export function parseSddl(sddl: string): SecurityDescriptor {
  const found = /^O:(.+?)G:(.+?)D:([A-Z_]*)((?:\([^()]*\))*)(?:S:.*)?$/.exec(sddl.trim());
  if (!found) throw new Error(`this is no security descriptor: ${sddl.slice(0, 200)}`);
  const [, owner = "", , flags = "", entries = ""] = found;
  // Without a list everybody may do everything.
  if (flags.includes("NO_ACCESS_CONTROL")) {
    return {
      owner: sidOf(owner),
      allows: [{ sid: "S-1-1-0", mask: 0x1f_01ff, inheritOnly: false }],
    };
  }
  return { owner: sidOf(owner), allows: [...entries.matchAll(/\(([^()]*)\)/g)].flatMap(allowance) };
}

function allowance([, entry = ""]: RegExpMatchArray): Allowance[] {
  const [type = "", flags = "", rights = "", , , sid = ""] = entry.split(";");
  // Denials take away; nothing is safer by leaving them out.
  if (type === "D" || type === "OD") return [];
  if (type !== "A") throw new Error(`an entry of an unknown kind: (${entry})`);
  const pairs: string[] = flags.match(/../g) ?? [];
  return [{ sid: sidOf(sid), mask: maskOf(rights), inheritOnly: pairs.includes("IO") }];
}

function sidOf(text: string): string {
  const sid = /^S-1(-\d+)+$/.test(text) ? text : ALIASES[text];
  if (sid === undefined) throw new Error(`an unknown user or group: ${text}`);
  return sid;
}

function maskOf(rights: string): number {
  if (/^0x[0-9a-f]+$/i.test(rights)) return Number(rights);
  return (rights.match(/../g) ?? []).reduce((mask, name) => {
    const bits = RIGHTS[name];
    if (bits === undefined) throw new Error(`an unknown right: ${name}`);
    return (mask | bits) >>> 0;
  }, 0);
}
