import assert from "node:assert/strict";
import { join } from "node:path";
import { GuardRig, shells } from "./testing.ts";
import {
  beginTrial,
  endTrial,
  forgiveStart,
  readRollback,
  readTrial,
  type Trial,
} from "./trial_file.ts";

type Step = (rig: GuardRig) => Promise<unknown>;

interface Row {
  readonly name: string;
  /** What happened before the guard is run. */
  readonly given: readonly Step[];
  readonly inUse: "old" | "new" | "nothing";
  /** Starts so far, after it; undefined: there is no trial any more. */
  readonly starts?: number;
  /** The reason in the note; undefined: there is none. */
  readonly reason?: RegExp;
  /** What it says on standard error; undefined: nothing. */
  readonly says?: RegExp;
}

const onTrial: Step = (rig) =>
  beginTrial(rig.dir, { trial: rig.newVersion, previous: rig.oldVersion, limitS: 600 });
const started: Step = (rig) => rig.guard();
const boot = (id: string, uptimeS: number): Step => (rig) => rig.boot(id, uptimeS);
const use = (version: "oldVersion" | "newVersion"): Step => async (rig) => {
  await Deno.remove(rig.files.link);
  await Deno.symlink(rig[version], rig.files.link);
};
const remove = (path: (rig: GuardRig) => string): Step => (rig) => Deno.remove(path(rig));
const trialText = (change: (text: string) => string): Step => async ({ files }) =>
  await Deno.writeTextFile(files.trial, change(await Deno.readTextFile(files.trial)));
const times = (count: number, ...steps: Step[]): Step[] => Array(count).fill(steps).flat();

const ROWS: readonly Row[] = [
  { name: "there is no trial", given: [], inUse: "new" },
  { name: "it is the first start", given: [onTrial], inUse: "new", starts: 1 },
  { name: "it is the second start", given: [onTrial, started], inUse: "new", starts: 2 },
  { name: "it is the third start", given: [onTrial, started, started], inUse: "new", starts: 3 },
  {
    name: "three starts failed",
    given: [onTrial, ...times(3, started)],
    inUse: "old",
    reason: /started 3 times/,
    says: /started 3 times.*back to .*1\.0\.0/,
  },
  {
    name: "three starts failed and the previous version was started since",
    given: [onTrial, ...times(4, started)],
    inUse: "old",
    reason: /started 3 times/,
  },
  {
    name: "the trial was committed after its third start",
    given: [onTrial, ...times(3, started), ({ dir }) => endTrial(dir)],
    inUse: "new",
  },
  {
    name: "a start ended in order and was taken back",
    given: [onTrial, ...times(3, started), ({ dir }) => forgiveStart(dir)],
    inUse: "new",
    starts: 3,
  },
  {
    name: "the time is not over",
    given: [onTrial, started, boot("boot-1", 699)],
    inUse: "new",
    starts: 2,
  },
  {
    name: "the deadline is exceeded",
    given: [onTrial, started, boot("boot-1", 700)],
    inUse: "old",
    reason: /within 600 seconds/,
    says: /within 600 seconds/,
  },
  {
    name: "the host was switched off three times",
    given: [onTrial, started, ...[2, 3, 4].flatMap((n) => [boot(`boot-${n}`, 5000), started])],
    inUse: "new",
    starts: 2,
  },
  {
    name: "the time is counted anew after a reboot",
    given: [onTrial, started, boot("boot-2", 9000), started, boot("boot-2", 9599)],
    inUse: "new",
    starts: 2,
  },
  {
    name: "the version on trial takes the host down again and again",
    given: [onTrial, ...Array.from({ length: 10 }, (_, n) => [boot(`b${n}`, 50), started]).flat()]
      .concat(boot("last", 50)),
    inUse: "old",
    reason: /host was started 10 times/,
    says: /host was started 10 times/,
  },
  {
    name: "the program on trial is gone",
    given: [onTrial, remove((rig) => rig.newVersion)],
    inUse: "old",
    reason: /missing or cannot be run/,
    says: /missing or cannot be run/,
  },
  {
    name: "the program on trial cannot be run",
    given: [onTrial, (rig) => Deno.chmod(rig.newVersion, 0o644)],
    inUse: "old",
    reason: /missing or cannot be run/,
    says: /missing or cannot be run/,
  },
  {
    name: "there is no previous version to go back to",
    given: [onTrial, ...times(3, started), remove((rig) => rig.oldVersion)],
    inUse: "new",
    starts: 3,
    says: /1\.0\.0.* cannot be started either; .*1\.1\.0.* stays/,
  },
  {
    name: "the power went before the link was replaced",
    given: [use("oldVersion"), onTrial],
    inUse: "old",
    starts: 0,
  },
  {
    name: "the trial file is cut off, with the previous version in its link",
    given: [onTrial, trialText((text) => text.slice(0, 60))],
    inUse: "new",
    starts: 1,
    says: /damaged; the trial begins anew/,
  },
  {
    name: "the end of the trial file is missing",
    given: [onTrial, started, trialText((text) => text.slice(0, -"end\n".length))],
    inUse: "new",
    starts: 1,
    says: /damaged; the trial begins anew/,
  },
  {
    name: "the trial file holds nonsense and the link to the previous version is gone",
    given: [
      onTrial,
      remove((rig) => rig.files.previousLink),
      trialText(() => "\u0000\u0001 `rm -rf x` $(false)\n=\n"),
    ],
    inUse: "new",
    says: /damaged and nothing else tells of a previous version; it is put aside/,
  },
  {
    name: "a number of the trial file is none",
    given: [onTrial, trialText((text) => text.replace("starts=0", "starts=-1"))],
    inUse: "new",
    starts: 1,
    says: /damaged/,
  },
  {
    name: "a number of the trial file is too large for a shell",
    given: [onTrial, trialText((text) => text.replace("limit=600", `limit=${"9".repeat(40)}`))],
    inUse: "new",
    starts: 1,
    says: /damaged/,
  },
  {
    name: "the trial file is empty",
    given: [onTrial, trialText(() => "")],
    inUse: "new",
    starts: 1,
    says: /damaged/,
  },
  {
    name: "the link is gone without a trial and the previous version is known",
    given: [onTrial, ({ dir }) => endTrial(dir), remove((rig) => rig.files.link)],
    inUse: "old",
    says: /led to no program; it leads to .*1\.0\.0/,
  },
  {
    name: "the link leads nowhere and no previous version is known",
    given: [remove((rig) => rig.files.link)],
    inUse: "nothing",
    says: /leads to no program/,
  },
];

for (const shell of await shells()) {
  for (const { name, given, inUse, starts, reason, says = /^$/ } of ROWS) {
    Deno.test(`start_guard.sh (${shell.name}) leaves the right version when ${name}`, async () => {
      await using rig = await GuardRig.create(shell);
      for (const step of given) await step(rig);
      const { code, stderr, stdout } = await rig.guard();
      assert.equal(code, 0, stderr);
      assert.equal(stdout, "");
      assert.match(stderr, says);
      assert.equal(await rig.inUse(), inUse);
      const trial = await readTrial(rig.dir);
      assert.equal((trial as Trial | undefined)?.starts, starts);
      const note = await readRollback(rig.dir);
      if (reason) assert.match(note?.reason ?? "there is no note", reason);
      else assert.equal(note, undefined);
      if (note) assert.deepEqual([note.from, note.to], [rig.newVersion, rig.oldVersion]);
    });
  }

  Deno.test(`start_guard.sh (${shell.name}) leaves one or the other version when it is killed at any step`, async () => {
    for (let step = 1;; step++) {
      for (const moment of ["before", "after"] as const) {
        await using rig = await GuardRig.create(shell);
        await onTrial(rig);
        for (let start = 0; start < 3; start++) await started(rig);
        await killAt(rig, step, moment);
        const { code } = await rig.guard();
        const wasKilled = code !== 0;
        await Deno.remove(join(rig.dir, "path"), { recursive: true });
        assert(["old", "new"].includes(await rig.inUse()), `${moment} step ${step}`);
        const { stderr } = await rig.guard();
        assert.equal(await rig.inUse(), "old", `${moment} step ${step}: ${stderr}`);
        assert.equal(await readTrial(rig.dir), undefined, `${moment} step ${step}`);
        assert.match((await readRollback(rig.dir))?.reason ?? "none", /started 3 times/);
        if (wasKilled) continue;
        assert(step > 8, `only ${step - 1} steps were found to be killed at`);
        return;
      }
    }
  });

  Deno.test(`start_guard.sh (${shell.name}) loses no count and no trial when it is killed while counting`, async () => {
    for (let step = 1;; step++) {
      await using rig = await GuardRig.create(shell);
      await onTrial(rig);
      await killAt(rig, step, "before");
      const { code } = await rig.guard();
      await Deno.remove(join(rig.dir, "path"), { recursive: true });
      const { starts } = await readTrial(rig.dir) as Trial;
      assert(starts === 0 || starts === 1, `${starts}`);
      await rig.guard();
      assert.equal((await readTrial(rig.dir) as Trial).starts, starts + 1);
      if (code === 0) return assert(step > 3);
    }
  });

  Deno.test(`start_guard.sh (${shell.name}) lets the agent start when nothing can be written`, async () => {
    await using rig = await GuardRig.create(shell);
    await onTrial(rig);
    // Root may write everywhere, so the programs that write fail as on a read-only file system.
    for (const name of ["mv", "ln", "rm", "sync"]) {
      await rig.fakeProgram(name, `echo "${name}: Read-only file system" >&2; exit 1\n`);
    }
    for (let start = 0; start < 5; start++) {
      const { code, stderr } = await rig.guard();
      assert.equal(code, 0);
      assert.match(stderr, /cannot count this start: .*agent-trial cannot be written/);
      assert.equal(stderr.trim().split("\n").length, 1, stderr);
      assert.equal(await rig.inUse(), "new");
    }
    await trialText((text) => text.replace("starts=0", "starts=3").replace("boot=", "boot=boot-1"))(
      rig,
    );
    const { code, stderr } = await rig.guard();
    assert.equal(code, 0);
    assert.match(stderr, /cannot put .*1\.0\.0.* back/);
    assert.equal(await rig.inUse(), "new");
  });

  Deno.test(`start_guard.sh (${shell.name}) goes back on a full disk and tells of it afterwards`, async () => {
    await using rig = await GuardRig.create(shell);
    await onTrial(rig);
    for (let start = 0; start < 3; start++) await started(rig);
    // Full until the trial file has gone.
    await rig.fakeProgram("cat", `[ ! -e "${rig.files.trial}" ] || exit 1\nexec /bin/cat\n`);
    assert.equal((await rig.guard()).code, 0);
    assert.equal(await rig.inUse(), "old");
    assert.match((await readRollback(rig.dir))?.reason ?? "none", /started 3 times/);
  });

  Deno.test(`start_guard.sh (${shell.name}) lets the agent start when its folder cannot be found`, async () => {
    await using rig = await GuardRig.create(shell);
    await Deno.mkdir(join(rig.dir, "else"));
    const copy = join(rig.dir, "else", "guard");
    await Deno.copyFile(rig.files.guard, copy);
    await Deno.rename(join(rig.dir, "bin"), join(rig.dir, "gone"));
    const [program = "", ...options] = shell.command;
    const { code, stderr } = await new Deno.Command(program, { args: [...options, copy] }).output();
    assert.equal(code, 0);
    assert.match(new TextDecoder().decode(stderr), /cannot find the agent's folder/);
  });

  Deno.test(`start_guard.sh (${shell.name}) lets systemd come back when a trial's deadline is exceeded`, async () => {
    await using rig = await GuardRig.create(shell);
    const record = join(rig.dir, "calls");
    for (const name of ["systemd-run", "systemctl"]) {
      await rig.fakeProgram(name, `printf '%s\\n' "${name} $*" >>"${record}"\n`);
    }
    const calls = async () => await Deno.readTextFile(record).catch(() => "");
    await onTrial(rig);
    await rig.guard();
    assert.equal(await calls(), "", "nobody runs it as a service");
    await rig.guard([], { MACHINE_AGENT_SERVICE: "machine-agent.service" });
    assert.match(
      await calls(),
      /^systemd-run .*--unit=machine-agent-trial-700 --on-active=600s -- .*machine-agent-guard --expire machine-agent\.service\n$/,
    );
    assert.equal((await rig.guard(["--remaining"])).stdout, "600\n");
    await Deno.remove(record);
    await rig.guard(["--expire", "machine-agent.service"]);
    assert.equal(await calls(), "", "the time is not over");
    await rig.boot("boot-1", 700);
    await rig.guard(["--expire", "machine-agent.service"]);
    assert.equal(await calls(), "systemctl restart machine-agent.service\n");
    await Deno.remove(record);
    await endTrial(rig.dir);
    await rig.guard(["--expire", "machine-agent.service"]);
    assert.equal(await calls(), "", "the version is trusted by now");
    assert.equal((await rig.guard(["--remaining"])).stdout, "");
  });
}

/** Kills the guard when it calls its `step`th program, before or after that program's work. */
async function killAt(rig: GuardRig, step: number, moment: "before" | "after"): Promise<void> {
  const counter = join(rig.dir, "steps");
  // Half of a pipe is a process of its own.
  const kill = `kill -9 "$(/bin/cat "${rig.pidFile}")" "$PPID"`;
  await Deno.writeTextFile(counter, "");
  for (const name of ["mv", "ln", "rm", "sync", "cat"]) {
    await rig.fakeProgram(
      name,
      `printf x >>"${counter}"
here=$(wc -c <"${counter}")
if [ "$here" -eq ${step} ] && [ ${moment} = before ]; then ${kill}; exit 1; fi
/bin/${name} "$@" || exit
if [ "$here" -eq ${step} ]; then ${kill}; fi
`,
    );
  }
}
