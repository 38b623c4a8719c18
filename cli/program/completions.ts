import { command, type CommandTree } from "../../shared/commands/run/command.ts";
import { OUTPUT_FLAGS } from "../../shared/commands/run/run_command.ts";
import type { Flag, FlagTable } from "../../shared/base/flags/flags.ts";

/** Commands that print completions for shells, made of the very tree that runs. */
export function completionCommands(
  program: string,
  tree: () => CommandTree,
  flags: FlagTable,
): CommandTree {
  const of = (shell: string, render: (words: readonly Words[]) => string, how: string) =>
    command({
      summary: `Print completions for ${shell}.`,
      flags: {},
      footer: how,
      run: () => {
        const text = render(wordsOf(tree(), flags));
        return Promise.resolve({ json: { shell, script: text }, text });
      },
    });
  return {
    "completions bash": of(
      "bash",
      (words) => bash(program, words),
      `Put this into ~/.bashrc: source <(${program} completions bash)`,
    ),
    "completions zsh": of(
      "zsh",
      (words) => zsh(program, words),
      `Put this into ~/.zshrc, after compinit: source <(${program} completions zsh)`,
    ),
    "completions fish": of(
      "fish",
      (words) => fish(program, words),
      `${program} completions fish > ~/.config/fish/completions/${program}.fish`,
    ),
  };
}

/** What may come after some words. */
interface Words {
  /** What was typed so far: "", `machines`, `machines list`. */
  readonly after: string;
  /** Words with what they mean. */
  readonly next: readonly (readonly [word: string, text: string])[];
}

function wordsOf(tree: CommandTree, flags: FlagTable): Words[] {
  const found = new Map<string, Map<string, string>>();
  const add = (after: string, word: string, text: string) => {
    const words = found.get(after) ?? new Map<string, string>();
    found.set(after, words);
    if (!words.has(word)) words.set(word, text);
  };
  for (const [name, { summary, flags: own }] of Object.entries(tree)) {
    const parts = name.split(" ");
    parts.forEach((word, at) => {
      const isLast = at === parts.length - 1;
      add(parts.slice(0, at).join(" "), word, isLast ? summary : `${word} …`);
    });
    const all: Record<string, Flag> = { ...own, ...flags, ...OUTPUT_FLAGS };
    for (const [flag, { doc, hidden }] of Object.entries(all)) {
      if (!hidden) add(name, `--${flag}`, doc);
    }
    add(name, "--help", "Show this help.");
  }
  return [...found].map(([after, next]) => ({ after, next: [...next] }));
}

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

function bash(program: string, words: readonly Words[]): string {
  const cases = words.map(({ after, next }) =>
    `    ${quoted(after)}) words=${quoted(next.map(([word]) => word).join(" "))} ;;`
  );
  return `# Completions of ${program} for bash.
_${program}() {
  local typed='' word words='' next
  COMPREPLY=()
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in -*) continue ;; esac
    next="\${typed:+$typed }$word"
    _${program}_words "$next" && typed=$next
  done
  _${program}_words "$typed"
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}")
}
_${program}_words() {
  case $1 in
${cases.join("\n")}
    *) return 1 ;;
  esac
}
complete -o default -F _${program} ${program}
`;
}

function zsh(program: string, words: readonly Words[]): string {
  const cases = words.map(({ after, next }) => {
    const items = next.map(([word, text]) => quoted(`${word.replaceAll(":", "\\:")}:${text}`));
    return `    ${quoted(after)}) items=(${items.join(" ")}) ;;`;
  });
  return `# Completions of ${program} for zsh.
_${program}_items() {
  case $1 in
${cases.join("\n")}
    *) return 1 ;;
  esac
}
_${program}() {
  local typed='' word next
  local -a items
  for word in \${words[2,CURRENT-1]}; do
    [[ $word == -* ]] && continue
    next="\${typed:+$typed }$word"
    _${program}_items "$next" && typed=$next
  done
  _${program}_items "$typed"
  _describe ${program} items || _files
}
compdef _${program} ${program}
`;
}

function fish(program: string, words: readonly Words[]): string {
  const cases = words.map(({ after, next }) => {
    const items = next.flatMap(([word, text]) => [quotedInFish(word), quotedInFish(text)]);
    return `    case ${quotedInFish(after)}\n      printf '%s\\t%s\\n' ${items.join(" ")}`;
  });
  return `# Completions of ${program} for fish.
function __${program}_words
  switch "$argv[1]"
${cases.join("\n")}
    case '*'
      return 1
  end
end
function __${program}_items
  set -l typed
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim -- "$typed $word")
    __${program}_words "$next" >/dev/null; and set typed $next
  end
  __${program}_words "$typed"
end
function __${program}_has_items
  set -l start (string escape --style=regex -- (commandline -ct))
  __${program}_items | string match -q -r -- "^$start"
end
complete -c ${program} -n __${program}_has_items -f -k -a '(__${program}_items)'
`;
}

/** Unlike in other shells, a backslash counts between single quotes. */
const quotedInFish = (text: string) => `'${text.replaceAll(/[\\']/g, "\\$&")}'`;
