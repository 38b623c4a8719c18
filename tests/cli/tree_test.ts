/** What holds for all commands of `machine`. */
import assert from "node:assert/strict";
import type { Flag } from "../../shared/base/flags/flags.ts";
import { OUTPUT_FLAGS } from "../../shared/commands/run/run_command.ts";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import { signInFlags } from "../../cli/program/connect.ts";
import { IDLE_DEPS } from "../../cli/program/idle_deps.ts";
import { machineProgram } from "../../cli/program/program.ts";
import { runMachine } from "./rig.ts";

const { tree } = machineProgram(IDLE_DEPS);

Deno.test("every command has help, takes --json, and no two of its options have one name", async () => {
  for (const [name, command] of Object.entries(tree)) {
    assert.match(command.summary, /^[A-Z][^]*\.$/, name);
    const { out } = await runMachine([...name.split(" "), "--help"]);
    assert.ok(out.startsWith(`${command.summary}\n\nUsage:\n  machine ${name} [options]`), name);
    assert.match(out, /--json/, name);
    assert.match(out, /--quiet/, name);
    const flags: Record<string, Flag> = { ...signInFlags, ...OUTPUT_FLAGS, ...command.flags };
    assert.equal(flags["json"], OUTPUT_FLAGS.json, `${name} has a --json of its own`);
    const names = Object.entries(flags).flatMap(([flag, { aliases = [] }]) => [flag, ...aliases]);
    assert.equal(new Set([...names, "h", "help"]).size, names.length + 2, `${name}: ${names}`);
  }
});

Deno.test("the scripts that outside tools call are there", () => {
  const fixed = [
    ...["login", "machines list", "machines create", "machines rename", "machines delete"],
    ...["machines status", "machines restart", "config get", "config set", "config edit"],
    ...["config diff", "config history", "config restore", "logs", "shell"],
  ];
  assert.deepEqual(fixed.filter((name) => !(name in tree)), []);
});

Deno.test("misspelt commands are told what was meant", async () => {
  const cases: [string[], RegExp][] = [
    [[], /^UsageError: a command is needed: login, /],
    [["machins"], /did you mean machines\?/],
    [["machines", "lst"], /did you mean machines list\?/],
    [["config", "restor", "x"], /did you mean config restore\?/],
    [["login", "--clud", "x"], /unknown option --clud \(did you mean --cloud\?\)/],
  ];
  for (const [argv, message] of cases) await assert.rejects(runMachine(argv), message);
  assert.match((await runMachine(["config"])).out, /config get +Print/);
  assert.match((await runMachine(["config", "--help"])).out, /config get +Print/);
  assert.match((await runMachine(["help", "config", "get"])).out, /--revision/);
});

const SHELLS = { bash: ["-n"], zsh: ["-n"], fish: ["--no-execute"] };

for (const [shell, args] of Object.entries(SHELLS) as [keyof typeof SHELLS, string[]][]) {
  Deno.test({
    name: `completions for ${shell} name all commands and are a script of it`,
    ignore: shell !== "bash" && ignoreWithout(import.meta.url, shell),
    async fn() {
      const { out } = await runMachine(["completions", shell]);
      for (const name of Object.keys(tree)) assert.ok(out.includes(name.split(" ").at(-1)!), name);
      const path = await Deno.makeTempFile();
      await Deno.writeTextFile(path, out);
      const { success, stderr } = await new Deno.Command(shell, { args: [...args, path] }).output();
      await Deno.remove(path);
      assert.ok(success, new TextDecoder().decode(stderr));
    },
  });
}

/** What a shell makes of `machine` and some words, the last of which is being typed. */
const COMPLETE: Record<keyof typeof SHELLS, (file: string, line: string) => string> = {
  bash: (file, line) =>
    `source ${file}; COMP_WORDS=(${line}); COMP_CWORD=$((\${#COMP_WORDS[@]} - 1)); _machine
     echo "\${COMPREPLY[*]}"`,
  // Tab in a terminal, then a key that writes down what is typed by then.
  zsh: (file, line) =>
    `zmodload zsh/zpty; zpty z TERM=dumb zsh -f -i
     zpty -w z "autoload -U compinit; compinit -u -D; source ${file}"
     zpty -w z 'shown() { print -r -- "$BUFFER" > ${file}.typed; exit }; zle -N shown'
     zpty -w z "bindkey '^O' shown; echo read''y"
     zpty -r -m z text '*ready*'
     zpty -w -n z '${line}'$'\t\x0f'
     while zpty -r z text; do :; done
     cat ${file}.typed; rm ${file}.typed`,
  fish: (file, line) => `source ${file}; complete -C '${line}' | string replace -r '\t.*' ''`,
};

for (const shell of Object.keys(SHELLS) as (keyof typeof SHELLS)[]) {
  Deno.test({
    name: `${shell} completes commands, their options, and what follows an option`,
    ignore: shell !== "bash" && ignoreWithout(import.meta.url, shell),
    async fn() {
      const { out } = await runMachine(["completions", shell]);
      const path = await Deno.makeTempFile();
      await Deno.writeTextFile(path, out);
      const cases: [string, string][] = [
        ["machine mach", "machines"],
        ["machine config re", "restore"],
        ["machine logs --fol", "--follow"],
        ["machine config get --rev", "--revision"],
        ["machine config get demo --rev", "--revision"],
        ["machine --org acme machines li", "list"],
      ];
      for (const [line, word] of cases) {
        const args = ["-c", COMPLETE[shell](path, line)];
        const { stdout, stderr } = await new Deno.Command(shell, { args }).output();
        const last = new TextDecoder().decode(stdout).trim().split(" ").at(-1);
        assert.equal(last, word, `${line}: ${new TextDecoder().decode(stderr)}`);
      }
      await Deno.remove(path);
    },
  });
}
