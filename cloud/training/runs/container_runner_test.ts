import assert from "node:assert/strict";
import { join } from "node:path";
import { Code } from "@connectrpc/connect";
import { LinuxProcessTable } from "../../../shared/base/process/process_table_linux.ts";
import { ignoreWithout } from "../../../shared/test_tools/skips.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { type ImageListError, readImages, USUAL_IMAGES } from "./container_images.ts";
import { ContainerRunner, type ContainerRunnerOptions } from "./container_runner.ts";
import { callsIn, containersIn, writeFakeEngine } from "./fake_engine.ts";
import { OBEDIENT, RunnerRig, scriptOf } from "./scripts_testing.ts";

const DEADLINE = { deadlineMs: 60_000 };

function test(
  name: string,
  fn: (
    rig: RunnerRig,
    engine: string,
    runner: (options?: Partial<ContainerRunnerOptions>) => ContainerRunner,
  ) => Promise<void>,
): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux" || ignoreWithout(import.meta.url, "pip"),
    fn: async () => {
      await using rig = await RunnerRig.open();
      const engine = join(rig.dataDir, "engine");
      const program = await writeFakeEngine(engine);
      await fn(rig, engine, (options = {}) =>
        new ContainerRunner({
          ...{ dataDir: rig.dataDir, engine: "podman", program, images: USUAL_IMAGES },
          ...{ inherited: Deno.env.toObject(), processes: rig.processes, clock: systemClock },
          log: rig.log,
          ...options,
        }));
      assert.deepEqual(rig.runFolders(), []);
      if ((await callsIn(engine)).some(([command]) => command === "run")) {
        assert.deepEqual(containersIn(engine), []);
      }
    },
  });
}

test("run() runs a script in a container, by the public contract", async (rig, engine, runner) => {
  const limits = { memoryBytes: 2 ** 30, processes: 99, cpuMs: 7_000, diskBytes: 2 ** 20 };
  const run = await rig.start(
    runner({ limits }),
    `
print("dataset", os.getcwd(), data)
print("key", os.environ["API_KEY"], "epochs", rest)
print("cloud", os.environ.get("CLOUD_SECRET"))
save()`,
    { environment: { API_KEY: "open sesame" } },
  );
  assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
  const { task } = run;
  assert.ok(run.has(`dataset ${task.datasetFolder} dataset.jsonl`));
  assert.ok(run.has("key open sesame epochs []"));
  assert.ok(run.has("cloud None"));
  assert.ok(run.has("pip3 install --no-cache-dir"));
  assert.equal(await Deno.readTextFile(join(task.outputFolder, "model.tflite")), "model");

  const calls = await callsIn(engine);
  assert.deepEqual(calls.map(([command]) => command), ["image", "pull", "run", "rm"]);
  const args = calls[2] ?? [];
  const [uri] = USUAL_IMAGES.map((image) => image.uri);
  const shown = args.join(" ");
  for (
    const part of [
      `run --name machine-training-${task.jobId}-1 --label machine-cloud-training=`,
      "--memory 1073741824 --memory-swap 1073741824 --pids-limit 99",
      "--ulimit core=0 --ulimit fsize=1048576 --ulimit cpu=7",
      "--security-opt no-new-privileges",
      "--env API_KEY --mount",
      `source=${task.datasetFolder},target=/dataset_root`,
      `source=${task.outputFolder},target=/model_output`,
      ",target=/training_script",
      `--workdir /dataset_root --entrypoint /bin/bash ${uri} -c`,
      "-- --dataset_file=dataset.jsonl --model_output_directory=/model_output --do=",
    ]
  ) assert.ok(shown.includes(part), `${part}\n${shown}`);
  assert.ok(!shown.includes("open sesame"), "secrets stay out of command lines");
  const again = await rig.start(runner(), "save()", { containerVersion: "python:3.12" });
  assert.deepEqual(await again.ended, { kind: "succeeded" }, again.lines.join("\n"));
});

test("run() tells what went wrong in a container", async (rig, engine, runner) => {
  const endOf = async (code: string, changes = {}, options = {}) => {
    const end = await (await rig.start(runner(options), code, changes)).ended;
    assert(end.kind === "failed");
    return `${Code[end.code]}: ${end.reason}`;
  };
  assert.match(
    await endOf("sys.exit(4)"),
    /^Unknown: the script exited with code 4; it printed|last/,
  );
  assert.match(await endOf("print('done')"), /^FailedPrecondition: .* left no file [^]*done$/);
  assert.match(
    await endOf("os.kill(os.getpid(), signal.SIGSEGV)"),
    /^Unknown: the script crashed in a library \(SIGSEGV/,
  );
  assert.match(
    await endOf("", { containerVersion: "gone" }),
    /^InvalidArgument: this cloud has no container "gone" any more; there are: tf:2.17, python/,
  );
  const images = [{ key: "x", uri: "acme/missing:1", framework: "any", description: "" }];
  assert.match(
    await endOf("", {}, { images }),
    /^FailedPrecondition: pulling the image acme\/missing:1 exited with code 1; .*\n.*denied/,
  );
  assert.match(
    await endOf("time.sleep(600)", {}, { limits: { wallMs: 3_000 } }),
    /^DeadlineExceeded: the script took longer than 3 s/,
  );
  const without = OBEDIENT.filter(({ path }) => path !== "model/training.py");
  assert.match(
    await endOf("", { script: scriptOf(without, "bad") }),
    /^InvalidArgument: .* model\/training\.py is missing/,
  );
  assert.match(
    await endOf("", {}, { program: "/nowhere/podman" }),
    /: cannot start \/nowhere\/podman: .*does not exist/,
  );
  await Deno.writeTextFile(join(engine, "oom"), "");
  assert.match(
    await endOf("os.kill(os.getpid(), signal.SIGKILL)"),
    /^ResourceExhausted: the script used more memory than this cloud allows: the limit is 8 GiB/,
  );
});

test("run() removes the container when it is canceled", async (rig, engine, runner) => {
  const run = await rig.start(
    runner(),
    "signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up'); time.sleep(600)",
  );
  await waitFor(() => run.has("info up"), DEADLINE);
  assert.equal(containersIn(engine).length, 1);
  run.cancel();
  assert.deepEqual(await run.ended, { kind: "aborted" });
});

test(
  "recover() removes the containers of an earlier cloud, and no other's",
  async (rig, engine, runner) => {
    const run = await rig.start(runner(), "print('up'); time.sleep(600)");
    await waitFor(() => run.has("info up"), DEADLINE);
    const [name = ""] = containersIn(engine);
    const { pid } = JSON.parse(await Deno.readTextFile(join(engine, "containers", name)));
    const other = { label: "machine-cloud-training=other", pid: 2 ** 22 + 1, oom: false };
    await Deno.writeTextFile(join(engine, "containers", "other"), JSON.stringify(other));
    await runner().recover();
    assert.deepEqual(containersIn(engine), ["other"]);
    await waitFor(() => new LinuxProcessTable().startOf(pid) === undefined, DEADLINE);
    await run.ended;
    await Deno.remove(join(engine, "containers", "other"));
  },
);

test(
  "run() installs what the cloud's own script requires, and gives it its files",
  async (rig, engine, runner) => {
    const weights = join(rig.dataDir, "old.weights");
    await Deno.writeTextFile(weights, "0.5");
    const managed = {
      key: "1",
      files: {
        ...Object.fromEntries(OBEDIENT.map(({ path, content = "" }) => [path, String(content)])),
        "requirements.txt": "numpy==2.2.6 --hash=sha256:00\n",
      },
      arguments: { weights },
    };
    const run = await rig.start(runner({ managed }), "save('rest', rest[0])", {
      script: { kind: "managed" },
    });
    assert.deepEqual(await run.ended, { kind: "succeeded" }, run.lines.join("\n"));
    assert.ok(
      run.lines.some((line) =>
        /pip3 install --no-cache-dir --require-hashes --requirement .*requirements\.txt$/.test(line)
      ),
      run.lines.join("\n"),
    );
    assert.ok(run.has("numpy==2.2.6 --hash=sha256:00"), "the container can read the file");
    const call = (await callsIn(engine)).find(([command]) => command === "run") ?? [];
    assert.ok(call.includes("--weights=/training_files/old.weights"));
    const mount = `type=bind,source=${weights},target=/training_files/old.weights,readonly`;
    assert.ok(call.includes(mount));
  },
);

Deno.test("readImages() reads the operator's list, and says where one is wrong", async () => {
  const path = await Deno.makeTempFile();
  const read = async (value: unknown) => {
    await Deno.writeTextFile(path, typeof value === "string" ? value : JSON.stringify(value));
    return await readImages(path);
  };
  const refused = (value: unknown, why: RegExp) =>
    assert.rejects(read(value), (error: ImageListError) => {
      assert.equal(error.name, "ImageListError");
      assert.match(error.message, why);
      return true;
    });
  assert.deepEqual(await read([{ key: "tf", image: "acme/tf:1", description: "ours" }]), [
    { key: "tf", uri: "acme/tf:1", framework: "any", description: "ours" },
  ]);
  await refused("[", /is no JSON/);
  await refused([], /at least one is needed/);
  await refused([{ key: "a b", image: "x" }], /\[0\]\["key"\]: 1 to 100 letters/);
  await refused([{ key: "a", image: "--privileged" }], /\[0\]\["image"\]: the name of an image/);
  await refused([{ key: "a", image: "x" }, { key: "a", image: "y" }], /the key a is there twice/);
  await Deno.remove(path);
  await assert.rejects(readImages(path), /cannot read the list of images .*does not exist/);
});
