/**
 * In the place of journalctl, for the bench of forwarding: 2,000 lines of a journal a second, as
 * long as somebody reads them. With `--lines` it prints one line and ends.
 */
import process from "node:process";
import { systemClock } from "../../shared/base/time/clock.ts";

const LINES_PER_SECOND = 2_000;
const TURN_MS = 20;
const BOOT = "e62407f62e194ea1844a576d77e96ba2";

function line(n: number): string {
  const us = 1_795_396_790_000_000 + n * 500;
  return JSON.stringify({
    PRIORITY: n % 50 === 0 ? "4" : "6",
    _BOOT_ID: BOOT,
    __MONOTONIC_TIMESTAMP: `${n * 500}`,
    __CURSOR: `s=9317f75e987f481c87f59ad089c0b24e;i=${n.toString(16)};b=${BOOT};` +
      `m=${(n * 500).toString(16)};t=${us.toString(16)};x=492f8035d222c980`,
    SYSLOG_IDENTIFIER: n % 3 === 0 ? "kernel" : "sshd",
    __REALTIME_TIMESTAMP: `${us}`,
    _TRANSPORT: "syslog",
    _COMM: "sshd",
    _SYSTEMD_UNIT: "ssh.service",
    MESSAGE: `Accepted publickey for user${n} from 10.0.0.7 port ${n % 65_536} ssh2: RSA SHA256:x`,
    _PID: `${1_000 + n % 30_000}`,
  }) + "\n";
}

async function main(): Promise<void> {
  if (Deno.args.includes("--lines=1")) return void process.stdout.write(line(0));
  const startedMs = performance.now();
  for (let n = 1;;) {
    const due = Math.floor((performance.now() - startedMs) / 1_000 * LINES_PER_SECOND);
    let text = "";
    while (n <= due) text += line(n++);
    if (text !== "") await Deno.stdout.write(new TextEncoder().encode(text));
    await systemClock.sleep(TURN_MS);
  }
}

if (import.meta.main) await main().catch(() => {});
