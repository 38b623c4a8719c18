/** A network of computers of its own, on this one: namespaces that a cable joins. */
import { basename } from "node:path";
import { noCablesBecause } from "../../shared/test_tools/probes.ts";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { runToEnd } from "./run_to_end.ts";

/** One of the two hosts. */
export interface NetworkComputer {
  readonly name: string;
  readonly address: string;
  /** What a command has to begin with to run there. */
  readonly run: readonly string[];
}

/** Why there can be none here; undefined when there can. */
export async function noNetworkBecause(): Promise<string | undefined> {
  if (Deno.build.os !== "linux") return "it is for Linux";
  if (Deno.uid() !== 0) return "only root can make network namespaces";
  return missingTools("iproute2", "unshare", "mount") ?? await noCablesBecause();
}

/** Nothing on it reaches another network; loopback is each host's own. */
export class SmallNetwork implements AsyncDisposable {
  private constructor(
    readonly first: NetworkComputer,
    readonly second: NetworkComputer,
  ) {}

  /** @throws Error with what `ip` said when there can be none. */
  static async create(): Promise<SmallNetwork> {
    // Names are those of the whole computer, and at most 15 letters long for an interface.
    const id = crypto.randomUUID().slice(0, 6);
    const computerOf = (letter: string, address: string): NetworkComputer => {
      const name = `test-${id}-${letter}`;
      return { name, address, run: ["ip", "netns", "exec", name] };
    };
    const network = new SmallNetwork(computerOf("a", "192.0.2.1"), computerOf("b", "192.0.2.2"));
    const { first, second } = network;
    try {
      for (const { name } of [first, second]) await ip("netns", "add", name);
      const ends = [`v${id}a`, `v${id}b`] as const;
      await ip("link", "add", ends[0], "type", "veth", "peer", "name", ends[1]);
      for (const [at, one] of [first, second].entries()) {
        await ip("link", "set", ends[at]!, "netns", one.name, "name", "eth0");
        await ip("-n", one.name, "link", "set", "lo", "up");
        await network.plugIn(one);
      }
      return network;
    } catch (error) {
      await network[Symbol.asyncDispose]();
      throw error;
    }
  }

  /** Takes the network away from a host. */
  async unplug({ name, address }: NetworkComputer): Promise<void> {
    await ip("-n", name, "link", "set", "eth0", "down");
    await ip("-n", name, "address", "delete", `${address}/24`, "dev", "eth0");
  }

  /** Gives it back. */
  async plugIn({ name, address }: NetworkComputer): Promise<void> {
    await ip("-n", name, "address", "add", `${address}/24`, "dev", "eth0");
    await ip("-n", name, "link", "set", "eth0", "up");
    // Some programs leave it to the system by which link they reach a group.
    await ip("-n", name, "route", "add", "default", "dev", "eth0");
  }

  /** Runs a command to its end and returns what it wrote. */
  async output({ run }: NetworkComputer, ...command: string[]): Promise<string> {
    return await output([...run, ...command]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { name } of [this.first, this.second]) {
      await ip("netns", "delete", name).catch(() => {}); // It may be that it was never made.
    }
  }
}

async function ip(...args: string[]): Promise<void> {
  await output(["ip", ...args]);
}

async function output([command = "", ...args]: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await runToEnd(command, {
    args,
    limitMs: 90_000,
  });
  const decode = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  if (!success) throw new Error(`${basename(command)} ${args.join(" ")}: ${decode(stderr)}`);
  return decode(stdout);
}
