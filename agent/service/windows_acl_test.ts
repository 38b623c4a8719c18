import assert from "node:assert/strict";
import { InstallError } from "./install_error.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { canReplace, parseSddl, Sid } from "./security_descriptor.ts";
import { checkGuardedFolder, makeGuardedFolder } from "./windows_acl.ts";

const DIR = "C:\\opt\\machine";
const OPT = "C:\\opt";
/** As Windows shows folders that administrators made below C:\, and a folder of ours. */
const INHERITED = "O:BAG:SYD:AI(A;OICIID;FA;;;BA)(A;OICIID;FA;;;SY)(A;OICIID;0x1200a9;;;BU)" +
  "(A;ID;0x1301bf;;;AU)(A;OICIIOID;SDGXGWGR;;;AU)";
const OURS = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)";
const ABOVE = "O:BAG:SYD:PAI(A;OICI;FA;;;SY)(A;OICI;FA;;;BA)(A;OICI;0x1200a9;;;BU)";
const MALLORY = "S-1-5-21-1-2-3-1001";

/** `icacls.exe` and PowerShell of a made-up computer. */
function computer(folders: Record<string, string>, contents: [string, string][] = []) {
  const known = new Map(Object.entries(folders));
  const calls: string[] = [];
  const said: string[] = [];
  let afterwards = OURS;
  const answer = (stdout: string, code = 0) =>
    Promise.resolve({ code, stdout, stderr: code === 0 ? "" : "not found" });
  const run: RunProgram = (program, args) => {
    if (program === "powershell.exe") {
      const script = args.at(-1) ?? "";
      if (script.includes("-Recurse")) {
        return answer(contents.map(([path, sddl]) => `${sddl}\t${path}\r\n`).join(""));
      }
      const paths = [...script.matchAll(/-LiteralPath '((?:[^']|'')*)'/g)].map(([, path]) =>
        path?.replaceAll("''", "'") ?? ""
      );
      const lines = paths.map((path) => known.get(path));
      return lines.includes(undefined) ? answer("", 1) : answer(`${lines.join("\r\n")}\r\n`);
    }
    calls.push(`${program} ${args.join(" ")}`);
    const [path = ""] = args;
    if (args.includes("/grant:r")) known.set(path, path === DIR ? afterwards : ABOVE);
    return answer("processed file");
  };
  return {
    run,
    calls,
    said,
    say: (line: string) => void said.push(line),
    makeFolder: (path: string) => {
      const isNew = !known.has(path);
      if (isNew) known.set(path, INHERITED);
      return Promise.resolve(isNew);
    },
    set resists(sddl: string) {
      afterwards = sddl;
    },
  };
}

const FULL = "*S-1-5-18:(OI)(CI)F *S-1-5-32-544:(OI)(CI)F";

Deno.test("makeGuardedFolder() leaves a new folder, and the one above, to administrators", async () => {
  const at = computer({});
  await makeGuardedFolder({ dir: DIR, ...at });
  assert.deepEqual(at.calls, [
    `icacls.exe ${OPT} /inheritance:r /grant:r ${FULL} *S-1-5-32-545:(OI)(CI)RX`,
    `icacls.exe ${OPT} /remove *S-1-5-11`,
    `icacls.exe ${OPT} /setowner *S-1-5-32-544`,
    `icacls.exe ${DIR} /inheritance:r /grant:r ${FULL}`,
    `icacls.exe ${DIR} /remove *S-1-5-32-545`,
    `icacls.exe ${DIR} /remove *S-1-5-11`,
    `icacls.exe ${DIR} /setowner *S-1-5-32-544 /T /C /L /Q`,
  ]);
  assert.deepEqual(at.said, []);
});

Deno.test("checkGuardedFolder() changes nothing that is right", async () => {
  const at = computer({ [OPT]: ABOVE, [DIR]: OURS });
  await checkGuardedFolder({ dir: DIR, ...at });
  await makeGuardedFolder({ dir: DIR, ...at });
  assert.deepEqual([at.calls, at.said], [[], []]);
});

Deno.test("checkGuardedFolder() closes a folder of an older version, and says so", async () => {
  const file = `${DIR}\\cache\\machine-agent.exe`;
  const at = computer({ [OPT]: INHERITED, [DIR]: INHERITED }, [[file, INHERITED]]);
  await checkGuardedFolder({ dir: DIR, ...at });
  assert.equal(at.calls.at(-1), `icacls.exe ${DIR}\\* /reset /T /C /L /Q`);
  assert.match(at.said.join("\n"), /C:\\opt, in which.*\nC:\\opt\\machine was open to others/);
  await checkGuardedFolder({ dir: DIR, ...computer({ [OPT]: ABOVE, [DIR]: OURS }) });
});

Deno.test("both refuse what belongs to somebody else, and touch nothing", async () => {
  const theirs = INHERITED.replace("O:BA", `O:${MALLORY}`);
  const cases: [Record<string, string>, [string, string][], RegExp][] = [
    [{ [OPT]: ABOVE, [DIR]: theirs }, [], /C:\\opt\\machine belongs to S-1-5-21-1-2-3-1001/],
    [{ [OPT]: theirs, [DIR]: OURS }, [], /C:\\opt belongs to S-1-5-21.*takeown \/F "C:\\opt" \/A/],
    [{ [OPT]: ABOVE, [DIR]: INHERITED }, [[`${DIR}\\bin\\x`, theirs]], /bin\\x belongs to/],
  ];
  for (const [folders, contents, reason] of cases) {
    for (const guard of [makeGuardedFolder, checkGuardedFolder]) {
      const at = computer(folders, contents);
      await assert.rejects(
        () => guard({ dir: DIR, ...at }),
        (error) => error instanceof InstallError && reason.test(error.message),
      );
      assert.deepEqual(at.calls, []);
    }
  }
});

Deno.test("checkGuardedFolder() refuses what it cannot read, and what does not change", async () => {
  const message = (at: ReturnType<typeof computer>, dir = DIR) =>
    checkGuardedFolder({ dir, ...at }).then(() => "fine", (error: Error) => error.message);
  assert.match(await message(computer({ [OPT]: ABOVE })), /cannot be read: not found/);
  assert.match(await message(computer({ [OPT]: ABOVE, [DIR]: "?" })), /machine are not understood/);
  const at = computer({ [OPT]: ABOVE, [DIR]: INHERITED });
  at.resists = INHERITED;
  assert.match(await message(at), /permissions of C:\\opt\\machine could not be set/);
  const odd = "C:\\it's\\m";
  assert.equal(await message(computer({ "C:\\it's": ABOVE, [odd]: OURS }), odd), "fine");
});

Deno.test("parseSddl() reads owners, rights and inheritance", () => {
  const { owner, allows } = parseSddl(INHERITED);
  assert.equal(owner, Sid.administrators);
  assert.deepEqual(
    allows.map(({ sid, mask, inheritOnly }) => [sid, mask.toString(16), inheritOnly]),
    [
      [Sid.administrators, "1f01ff", false],
      [Sid.system, "1f01ff", false],
      [Sid.users, "1200a9", false],
      ["S-1-5-11", "1301bf", false],
      ["S-1-5-11", "e0010000", true],
    ],
  );
  assert.deepEqual(allows.map(canReplace), [true, true, false, true, false]);
  assert.deepEqual(parseSddl("O:SYG:SYD:P(D;;FA;;;WD)S:AI(AU;SA;FA;;;WD)").allows, []);
  assert.equal(parseSddl("O:SYG:SYD:NO_ACCESS_CONTROL").allows[0]?.sid, "S-1-1-0");
  for (
    const wrong of ["", "O:BA", "O:QQG:SYD:", "O:BAG:SYD:(A;;QQ;;;BA)", "O:BAG:SYD:(XA;;FA;;;WD)"]
  ) assert.throws(() => parseSddl(wrong), Error, wrong);
});
