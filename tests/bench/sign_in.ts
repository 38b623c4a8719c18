import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { request } from "node:http";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Program } from "../e2e/program.ts";
import { processorMs } from "./footprint.ts";
import { percentile, type Reporter } from "./report.ts";

const EMAIL = "ann@example.com";
const PASSWORD = "correct horse battery";
const SIGN_INS = 20;
const GUESSES_PER_S = 100;
const CALLS_PER_S = 50;
const STORM_MS = 10_000;
/** Between two sign-ins of one person: without it two of them keep a processor each. */
const PAUSE_MS = 1_000;
/** From where guesses come: all of 127/8 is this host. From nobody: what the others feel of each other. */
const STORMS = { nobody: [], one_address: ["127.0.0.9"], addresses: loopback(50) } as const;
const PROGRAM = join(
  Deno.env.get("MACHINE_TEST_BINARIES") ?? fileURLToPath(new URL("../../bin", import.meta.url)),
  "machine-cloud",
);

/**
 * How long a sign-in takes alone, and what others feel of 100 wrong passwords a second: those who
 * sign in from where they did before or from a new address, and those who call with a token.
 */
export async function benchSignIn(reporter: Reporter): Promise<void> {
  const dir = await Deno.makeTempDir({ prefix: "bench-sign-in-" });
  try {
    const data = ["--data", join(dir, "cloud")];
    const port = freePort();
    const url = `http://127.0.0.1:${port}`;
    const { stdout } = await new Deno.Command(PROGRAM, {
      args: [
        ...["bootstrap", ...data, "--org", "Acme", "--location", "Lab", "--machine", "demo"],
        ...["--owner", EMAIL, "--public-url", url],
      ],
    }).output();
    const made = JSON.parse(new TextDecoder().decode(stdout)) as { owner_password_url: string };
    const cloud = Program.start({
      name: "machine-cloud",
      command: PROGRAM,
      args: ["serve", ...data, "--listen", `127.0.0.1:${port}`],
    });
    try {
      await cloud.waitForLine(/serving/, 60_000);
      const token = new URL(made.owner_password_url).searchParams.get("token") ?? "";
      await account(port, "SetPassword", { token, password: PASSWORD });
      await measure(reporter, port, cloud.pid).catch((error) => {
        throw cloud.hasExited ? cloud.endedError() : error;
      });
    } finally {
      await cloud.stop(5_000);
    }
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

async function measure(reporter: Reporter, port: number, pid: number): Promise<void> {
  const right = { email: EMAIL, password: PASSWORD };
  reporter.note(`${SIGN_INS} sign-ins …`);
  const alone: number[] = [];
  let token = "";
  const before = await processorMs(pid);
  for (let i = 0; i < SIGN_INS; i++) {
    const { ms, body } = await account(port, "SignIn", right);
    alone.push(ms);
    token = (JSON.parse(body) as { signedIn: { accessToken: string } }).signedIn.accessToken;
  }
  const each = (await processorMs(pid) - before) / SIGN_INS;
  reporter.report("sign_in_processor", each, "ms");
  reporter.report("sign_in_p50", percentile(alone, 0.5), "ms");
  reporter.report("sign_in_p99", percentile(alone, 0.99), "ms");
  const quiet = await calls(port, token);
  reporter.report("call_p99_without_guesses", percentile(quiet, 0.99), "ms");

  let newAddresses = 0;
  for (const [name, addresses] of Object.entries(STORMS)) {
    reporter.note(`${GUESSES_PER_S} wrong passwords a second, from ${name} …`);
    let guesses = 0;
    let checked = 0;
    const [startedMs, beforeMs] = [performance.now(), await processorMs(pid)];
    const answers: Promise<unknown>[] = [];
    let isOver = false;
    const storm = setInterval(() => {
      if (addresses.length === 0) return;
      const from = addresses[guesses % addresses.length] ?? "";
      const email = guesses % 2 === 0 ? EMAIL : `nobody${guesses % 50}@example.com`;
      const guess = { email, password: `guess ${guesses++}` };
      const count = ({ status }: { readonly status: number }) =>
        void (checked += +(status === 401 && !isOver));
      answers.push(account(port, "SignIn", guess, { from }).then(count, () => undefined));
    }, 1000 / GUESSES_PER_S);
    const signIns: number[] = [];
    const people = (async () => {
      while (!isOver) {
        const { ms, status } = await account(port, "SignIn", right);
        if (status !== 200) throw new Error(`a right password was refused: HTTP ${status}`);
        signIns.push(ms);
        await pause();
      }
    })();
    const travels: number[] = [];
    let turnedAway = 0;
    const travellers = (async () => {
      while (!isOver) {
        const from = `127.0.1.${1 + newAddresses++ % 250}`;
        const { ms, status } = await account(port, "SignIn", right, { from });
        if (status === 200) travels.push(ms);
        else if (status !== 429) {
          throw new Error(`one from a new address was refused: HTTP ${status}`);
        } else turnedAway++; // "Try again in a few seconds": those who guess are as new.
        await pause();
      }
    })();
    const others = Promise.all([people, travellers]);
    let during: number[];
    try {
      [during] = await Promise.all([calls(port, token).finally(() => isOver = true), others]);
      const tookMs = performance.now() - startedMs;
      const usedMs = await processorMs(pid) - beforeMs;
      const ofSignIns = (signIns.length + travels.length) * each;
      reporter.report(`processor_guesses_from_${name}`, usedMs / tookMs * 100, "% of a core");
      const left = (usedMs - ofSignIns) / tookMs * 100;
      reporter.report(`processor_less_sign_ins_guesses_from_${name}`, left, "% of a core");
    } finally {
      isOver = true;
      clearInterval(storm);
      await Promise.allSettled([...answers, others]);
    }
    reporter.report(`sign_in_p50_guesses_from_${name}`, percentile(signIns, 0.5), "ms");
    reporter.report(`sign_in_p99_guesses_from_${name}`, percentile(signIns, 0.99), "ms");
    reporter.report(`sign_in_p50_new_address_guesses_from_${name}`, percentile(travels, 0.5), "ms");
    reporter.report(
      `sign_in_p99_new_address_guesses_from_${name}`,
      percentile(travels, 0.99),
      "ms",
    );
    reporter.report(`guesses_checked_from_${name}`, checked, `of ${guesses}`);
    reporter.report(`new_addresses_turned_away_guesses_from_${name}`, turnedAway, "");
    reporter.report(`call_p99_guesses_from_${name}`, percentile(during, 0.99), "ms");
  }
}

/** Milliseconds of each call of somebody with a token, at a steady rate. */
async function calls(port: number, token: string): Promise<number[]> {
  const samples: Promise<{ readonly ms: number }>[] = [];
  const end = performance.now() + STORM_MS;
  while (performance.now() < end) {
    samples.push(post(port, "/viam.app.v1.AppService/ListOrganizations", {}, { token }));
    await new Promise((resolve) => setTimeout(resolve, 1000 / CALLS_PER_S));
  }
  return (await Promise.all(samples)).map(({ ms }) => ms);
}

const pause = () => new Promise((resolve) => setTimeout(resolve, PAUSE_MS));

const account = (port: number, method: string, body: object, options: PostOptions = {}) =>
  post(port, `/machine.cloud.v1.AccountService/${method}`, body, options);

interface PostOptions {
  /** Address of this host that it comes from. */
  readonly from?: string;
  readonly token?: string;
}

async function post(
  port: number,
  path: string,
  body: object,
  { from = "127.0.0.1", token }: PostOptions,
): Promise<{ readonly ms: number; readonly status: number; readonly body: string }> {
  const started = performance.now();
  return await new Promise((resolve, reject) => {
    const sent = request({
      ...{ host: "127.0.0.1", port, path, method: "POST", localAddress: from, agent: false },
      headers: {
        "content-type": "application/json",
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      },
    }, (answer) => {
      let text = "";
      answer.setEncoding("utf8");
      answer.on("data", (chunk: string) => text += chunk);
      answer.on("error", reject);
      answer.on("end", () =>
        resolve({
          ms: performance.now() - started,
          status: answer.statusCode ?? 0,
          body: text,
        }));
    });
    sent.on("error", (error) => reject(new Error(`${path} from ${from}: ${error.message}`)));
    sent.end(JSON.stringify(body));
  });
}

function loopback(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `127.0.0.${20 + i}`);
}
