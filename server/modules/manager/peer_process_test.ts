import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { PeerGate } from "./peer_gate.ts";
import { type ModuleProcess, SECRET_VARIABLE, type TcpEnds } from "./peer_process.ts";
import { LinuxPeerProcesses } from "./peer_process_linux.ts";
import { type WindowsCalls, WindowsPeerProcesses } from "./peer_process_windows.ts";

const ends: TcpEnds = {
  remoteAddress: "127.0.0.1",
  remotePort: 0x1f90,
  localAddress: "127.0.0.1",
  localPort: 0xa1b2,
};
const run: ModuleProcess = { pid: 100, secret: "only-mine" };

interface Shown {
  readonly pid: number;
  readonly parent: number;
  readonly session: number;
  readonly environment?: string;
  /** Sockets that it holds. */
  readonly inodes?: readonly number[];
}

const HEADER = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt\n";
const AFTER = "01 00000000:00000000 00:00000000 00000000  1000        0";
const V4 = `   1: 0100007F:1F90 0100007F:A1B2 ${AFTER} 777 1 0000000000000000 20 4 30 10 -1\n`;
const OUR_SIDE =
  `   0: 0100007F:A1B2 0100007F:1F90 ${AFTER} 555 1 0000000000000000 20 4 30 10 -1\n`;
const MAPPED = "0000000000000000FFFF00000100007F";
const V6 = `   1: ${MAPPED}:1F90 ${MAPPED}:A1B2 ${AFTER} 777 1 0000000000000000 20 4 30 10 -1\n`;

async function withProc(
  tables: { tcp?: string; tcp6?: string },
  shown: readonly Shown[],
  use: (peers: LinuxPeerProcesses) => void,
): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "peers-" });
  try {
    await Deno.mkdir(`${root}/net`);
    for (const [name, text] of Object.entries(tables)) {
      await Deno.writeTextFile(`${root}/net/${name}`, HEADER + text);
    }
    for (const { pid, parent, session, environment = "", inodes = [] } of shown) {
      await Deno.mkdir(`${root}/${pid}/fd`, { recursive: true });
      await Deno.writeTextFile(
        `${root}/${pid}/stat`,
        `${pid} (a) b) S ${parent} ${session} ${session} 0`,
      );
      await Deno.writeTextFile(`${root}/${pid}/environ`, environment);
      await Deno.symlink("/dev/null", `${root}/${pid}/fd/0`);
      for (const inode of inodes) {
        await Deno.symlink(`socket:[${inode}]`, `${root}/${pid}/fd/${inode}`);
      }
    }
    use(new LinuxPeerProcesses(root));
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}

const program: Shown = { pid: 100, parent: 1, session: 100 };

Deno.test({
  name: "LinuxPeerProcesses finds who holds the other end, and whether it is the module's",
  ignore: Deno.build.os === "windows",
  async fn() {
    const holds = { inodes: [777] };
    const secret = `A=b\0${SECRET_VARIABLE}=only-mine\0`;
    const table: [name: string, isOurs: boolean, shown: Shown[]][] = [
      ["the program", true, [{ ...program, ...holds }]],
      ["its session", true, [program, { pid: 101, parent: 1, session: 100, ...holds }]],
      ["a grandchild in its own session", true, [
        program,
        { pid: 101, parent: 100, session: 101 },
        { pid: 102, parent: 101, session: 102, ...holds },
      ]],
      ["what it left to itself", true, [
        program,
        { pid: 103, parent: 1, session: 103, environment: secret, ...holds },
      ]],
      ["a stranger", false, [program, { pid: 104, parent: 1, session: 104, ...holds }]],
      ["a stranger with a secret that only begins so", false, [
        program,
        {
          pid: 104,
          parent: 1,
          session: 104,
          environment: `${SECRET_VARIABLE}=only-mine2\0X${SECRET_VARIABLE}=only-mine\0`,
          ...holds,
        },
      ]],
      ["nobody", false, [program]],
      ["the module, another socket", false, [{ ...program, inodes: [778, 555] }]],
      ["a circle of parents", false, [
        { pid: 104, parent: 105, session: 104, ...holds },
        { pid: 105, parent: 104, session: 104 },
      ]],
    ];
    for (const [name, isOurs, shown] of table) {
      await withProc({ tcp: OUR_SIDE + V4, tcp6: "" }, shown, (peers) => {
        assert.equal(peers.isOf(ends, run), isOurs, name);
      });
    }
    await withProc({ tcp: OUR_SIDE, tcp6: V6 }, [{ ...program, ...holds }], (peers) => {
      assert.equal(peers.isOf(ends, run), true, "a socket for IPv4 and IPv6");
      assert.equal(peers.isOf({ ...ends, remotePort: 1 }, run), false, "another port");
      assert.equal(peers.isOf({ ...ends, remoteAddress: "127.0.0.2" }, run), false, "address");
    });
    await withProc({}, [{ ...program, ...holds }], (peers) => {
      assert.equal(peers.isOf(ends, run), false, "no tables");
    });
  },
});

/** A table of one row, as the system writes it. */
function windowsTable(family: 4 | 6, pid: number): Uint8Array {
  const size = family === 4 ? 24 : 56;
  const table = new DataView(new ArrayBuffer(4 + size + 10));
  table.setUint32(0, 1, true);
  const put = (at: number, bytes: number[]) =>
    bytes.forEach((byte, index) => table.setUint8(4 + at + index, byte));
  const address = [127, 0, 0, 1];
  const mapped = [...new Array(10).fill(0), 255, 255, ...address];
  const [far, near, farPort, nearPort, owner] = family === 4
    ? [4, 12, 8, 16, 20]
    : [0, 24, 20, 44, 52];
  put(far, family === 4 ? address : mapped);
  put(near, family === 4 ? address : mapped);
  put(farPort, [0x1f, 0x90, 0, 0]);
  put(nearPort, [0xa1, 0xb2, 0, 0]);
  table.setUint32(4 + owner, pid, true);
  return new Uint8Array(table.buffer);
}

Deno.test("WindowsPeerProcesses follows parents that are older than their children", () => {
  const parents = new Map([[100, 4], [101, 100], [102, 101], [104, 4], [105, 999], [106, 100]]);
  const created = new Map([[4, 1n], [100, 10n], [101, 11n], [102, 12n], [104, 13n], [105, 14n]]);
  created.set(106, 5n); // Older than the process that has its parent's number now.
  const ask = (pid: number, family: 4 | 6 = 4) => {
    const calls: WindowsCalls = {
      tcpTable: (asked) => asked === `ipv${family}` ? windowsTable(family, pid) : new Uint8Array(),
      parents: () => parents,
      createdAt: (id) => created.get(id),
    };
    return new WindowsPeerProcesses(calls);
  };
  const found = [100, 101, 102, 104, 105, 106, 107].map((pid) => ask(pid).isOf(ends, run));
  assert.deepEqual(found, [true, true, true, false, false, false, false]);
  assert.equal(ask(102, 6).isOf(ends, run), true);
  assert.equal(ask(104, 6).isOf(ends, run), false);
  assert.equal(ask(100).isOf({ ...ends, localPort: 1 }, run), false);
});

Deno.test("PeerGate bounds what refusing costs, and lets nobody in while nothing runs", () => {
  let now = 0;
  let looks = 0;
  const log = memoryLogger();
  const gate = new PeerGate({
    moduleName: "m",
    peers: { isOf: ({ remotePort }) => ++looks > 0 && remotePort === 1 },
    log,
    monotonicMs: () => now,
  });
  const from = (remotePort: number) => gate.refusal({ ...ends, remotePort });
  assert.match(from(1) ?? "", /not of the module/);
  assert.equal(looks, 0);
  gate.open(run);
  assert.equal(from(1), undefined);
  for (let tries = 0; tries < 1_000; tries++) assert.notEqual(from(2), undefined);
  assert.ok(looks < 25, `${looks} looks`);
  assert.match(from(1) ?? "", /too many/);
  now = 1_000;
  assert.equal(from(1), undefined);
  assert.equal(log.messages("warn").length, 2, "once for each run");
  const next = { pid: 200, secret: "b" };
  gate.open(next);
  gate.close(run);
  assert.equal(from(1), undefined);
  gate.close(next);
  assert.notEqual(from(1), undefined);
});
