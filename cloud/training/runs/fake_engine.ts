/** For tests: a program that takes the commands of podman and docker, without any container. */
import { join } from "node:path";

/**
 * Keeps what it knows in its own folder. Containers are processes that a client does not take with
 * it when it is killed, as with the real ones; mounted folders are named by their real paths.
 */
const ENGINE = `#!/usr/bin/env python3
import json, os, signal, subprocess, sys, time
home = os.path.dirname(os.path.abspath(__file__))
at = lambda *names: os.path.join(home, *names)
os.makedirs(at("containers"), exist_ok=True)
os.makedirs(at("images"), exist_ok=True)
args = sys.argv[1:]
with open(at("calls"), "a") as calls:
    calls.write(json.dumps(args) + "\\n")
image = lambda uri: at("images", uri.replace("/", "_"))

def read(name):
    with open(at("containers", name)) as file:
        return json.load(file)

def write(name, about):
    with open(at("containers", name + "~"), "w") as file:
        json.dump(about, file)
    os.rename(at("containers", name + "~"), at("containers", name))

def run(options):
    about = {"label": "", "oom": False}
    mounts, env, name, cwd = [], {"PATH": at("bin") + ":" + os.environ["PATH"]}, "", ""
    while options[0].startswith("--"):
        option = options.pop(0)
        if option == "--init": continue
        value = options.pop(0)
        if option == "--name": name = value
        if option == "--label": about["label"] = value
        if option == "--workdir": cwd = value
        if option == "--entrypoint": entrypoint = value
        if option == "--env":
            key, _, text = value.partition("=")
            env[key] = text if "=" in value else os.environ[key]
        if option == "--mount":
            parts = dict(part.partition("=")[::2] for part in value.split(","))
            mounts.append((parts["target"], parts["source"]))
    uri = options.pop(0)
    if not os.path.exists(image(uri)): sys.exit("no such image: " + uri)
    def real(text):
        for target, source in mounts: text = text.replace(target, source)
        return text
    env["SITE"] = at("site-" + name)
    env["PYTHONPATH"] = env["SITE"]
    child = subprocess.Popen([entrypoint] + [real(option) for option in options],
                             env=env, cwd=real(cwd), start_new_session=True)
    write(name, {**about, "pid": child.pid})
    code = child.wait()
    if os.path.exists(at("oom")): write(name, {**read(name), "oom": True})
    sys.exit(code if code >= 0 else 128 - code)

def remove(names):
    for name in names:
        try: about = read(name)
        except FileNotFoundError: continue
        try: os.killpg(about["pid"], signal.SIGKILL)
        except ProcessLookupError: pass
        os.unlink(at("containers", name))

if args[0] == "run": run(args[1:])
elif args[0] == "rm": remove([arg for arg in args[1:] if not arg.startswith("--")])
elif args[0] == "pull":
    if "missing" in args[1]: sys.exit("pull access denied for " + args[1])
    print("Trying to pull " + args[1])
    open(image(args[1]), "w").close()
elif args[:2] == ["image", "inspect"]: sys.exit(0 if os.path.exists(image(args[2])) else 1)
elif args[:2] == ["container", "inspect"]: print("true" if read(args[-1])["oom"] else "false")
elif args[0] == "ps":
    label = args[-1].partition("=")[2]
    for name in os.listdir(at("containers")):
        # Ids of containers are hexadecimal, and name them as well.
        if read(name)["label"] != label: continue
        os.rename(at("containers", name), at("containers", name.encode().hex()))
        print(name.encode().hex())
else: sys.exit("unknown command: " + " ".join(args))
`;
/** Installs where the container's Python looks, and leaves this host's as it is. */
const PIP = `#!/bin/sh
echo "pip3 $*"
case "$*" in *--require-hashes*) shift 4 && exec cat "$1" ;; esac
exec python3 -m pip "$@" --quiet --no-index --target "$SITE"
`;

/** Writes the program into a folder. @returns its path */
export async function writeFakeEngine(folder: string): Promise<string> {
  const program = join(folder, "podman");
  await Deno.mkdir(join(folder, "bin"), { recursive: true });
  await Deno.writeTextFile(program, ENGINE, { mode: 0o755 });
  await Deno.writeTextFile(join(folder, "bin", "pip3"), PIP, { mode: 0o755 });
  return program;
}

/** The containers that the program knows. */
export function containersIn(folder: string): string[] {
  return [...Deno.readDirSync(join(folder, "containers"))].map(({ name }) => name);
}

/** The arguments of its calls, in order. */
export async function callsIn(folder: string): Promise<string[][]> {
  const text = await Deno.readTextFile(join(folder, "calls"));
  return text.trim().split("\n").map((line) => JSON.parse(line));
}
