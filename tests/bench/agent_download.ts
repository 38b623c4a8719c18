import { fileURLToPath } from "node:url";
import {
  FileServer,
  randomBytes,
  sha256Of,
  withFolder,
} from "../../shared/transfer/download/testing.ts";
import type { DownloadFigures } from "./download_process.ts";
import type { Reporter } from "./report.ts";

const PROCESS = fileURLToPath(new URL("download_process.ts", import.meta.url));
/** A server's size, and a small one: the difference in memory is what the size costs. */
const SIZES = { small: 6_000_000, release: 60_000_000, large: 240_000_000 };
const RUNS = 3;

/** A release from loopback into the cache: time, memory, and how long nothing else could run. */
export async function benchAgentDownload(reporter: Reporter): Promise<void> {
  const server = await FileServer.start();
  try {
    for (const [what, size] of Object.entries(SIZES)) {
      reporter.note(`${RUNS} downloads of ${size / 1e6} MB …`);
      const bytes = randomBytes(size);
      bytes.set([0x7f, 0x45, 0x4c, 0x46, 2, 1]);
      bytes.set([0x3e, 0], 18);
      const sha256 = sha256Of(bytes);
      const contentType = "application/octet-stream";
      server.files.set("/release", { bytes, contentType, crc32c: undefined, sha256, etag: '"1"' });
      const runs: DownloadFigures[] = [];
      for (let run = 0; run < RUNS; run++) {
        await withFolder(async (folder) => {
          runs.push(await downloadOnce(folder, `${server.origin}/release`, sha256));
        });
      }
      const most = (pick: (figures: DownloadFigures) => number) => Math.max(...runs.map(pick));
      reporter.report(`download_${what}_max`, most(({ seconds }) => seconds * 1_000), "ms");
      const grown = ({ rssMost, rssBefore }: DownloadFigures) => rssMost - rssBefore;
      reporter.report(`download_${what}_rss_growth_max`, most(grown), "MiB");
      reporter.report(`download_${what}_rss_max`, most(({ rssMost }) => rssMost), "MiB");
      reporter.report(`download_${what}_blocked_max`, most(({ blockedMs }) => blockedMs), "ms");
      reporter.report(`download_${what}_computed_max`, most(({ computedMs }) => computedMs), "ms");
    }
  } finally {
    await server.close();
  }
}

async function downloadOnce(folder: string, url: string, sha256: string): Promise<DownloadFigures> {
  // As tools/v8_flags.txt has it for the agent.
  const flags = "--v8-flags=--max-semi-space-size=1,--lite-mode,--expose-gc";
  const command = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--quiet", "--no-check", flags, PROCESS, folder, url, sha256],
    stderr: "inherit",
  });
  const { success, stdout } = await command.output();
  if (!success) throw new Error("the download failed, see above");
  return JSON.parse(new TextDecoder().decode(stdout));
}
