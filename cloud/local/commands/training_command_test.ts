import assert from "node:assert/strict";
import { join } from "node:path";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { readArchive } from "../../../shared/commands/upload/archive.ts";
import { writeArchive } from "../../../shared/commands/upload/archive_testing.ts";
import { versionOfTime } from "../../../shared/commands/training/submit.ts";
import { SCRIPT, TrainingRig } from "./training_rig_testing.ts";

const idIn = (text: string): string => /[0-9a-f-]{36}/.exec(text)?.[0] ?? "";

Deno.test("training submits, lists, shows, cancels and deletes jobs", async () => {
  await using rig = await TrainingRig.open();
  const dataset = await rig.dataset("shapes");
  await rig.script("upload", await rig.writeScript(), "--name", "counts", "--version", "1");
  assert.equal(
    await rig.run("list"),
    "no training jobs; submit one with machine-cloud training submit\n",
  );
  const custom = ["submit", "--dataset", "shapes", "--script", "counts", "--arg", "epochs=3"];
  const submitted = await rig.run(...custom, "--model", "shapes-model");
  const id = idIn(submitted);
  assert.match(submitted, /^training job \S+ is submitted; machine-cloud training logs -f \S+ sho/);
  await rig.runOf(id);
  const job = JSON.parse(await rig.run("get", id, "--json"));
  assert.match(job.modelVersion, /^\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d$/);
  assert.deepEqual([job.datasetId, job.isCustomJob], [dataset, true]);
  assert.match(
    await rig.run("get", id),
    /^status +in-progress\nmodel +shapes-model 2[^]+^script +\S+:counts 1\narguments +epochs=3$/m,
  );
  const second = await rig.submit("other");
  assert.match(
    await rig.run("list"),
    /^\S{36} +other +2\S+ +\S+:counts +pending +2\S+ +-\n\S{36} +shapes-model .+ in-progress /m,
  );
  assert.match(await rig.run("list", "--status", "completed"), /^no training jobs/);

  assert.match(await rig.run("cancel", id), /^training job \S+ is cancel(ing|ed)\n$/);
  await rig.train(await rig.runOf(second));
  await waitFor(async () => /other .+ completed /.test(await rig.run("list")), {
    deadlineMs: 60_000,
    what: "the model of the second job",
  });
  assert.match(
    await rig.run("get", second),
    new RegExp(`^package +${rig.made.org_id}/other$`, "m"),
  );
  await assert.rejects(rig.run("cancel", id), { message: /is canceled: it has finished/ });
  assert.match(await rig.run("delete", id), /is deleted; what it made stays\n$/);
  await assert.rejects(rig.run("get", id), { message: new RegExp(`no training job.*${id}`) });
  assert.match(await rig.run("containers"), /^local +Python of the cloud$/m);
});

Deno.test("training submit takes a script of one's own with its arguments", async () => {
  await using rig = await TrainingRig.open();
  const dataset = await rig.dataset("shapes");
  const folder = await rig.writeScript();
  for (const version of ["1", "2"]) {
    const uploaded = await rig.script("upload", folder, "--name", "counts", "--version", version);
    assert.deepEqual(JSON.parse(uploaded).script, `${rig.made.org_id}:counts`);
  }
  const custom = ["submit", "--dataset", dataset, "--script", "counts", "--json"];
  const args = ["--arg", "epochs=3", "--arg", "note=a=b"];
  const newest = JSON.parse(await rig.run(...custom, ...args, "--model", "m"));
  assert.equal(newest.registryItemId, `${rig.made.org_id}:counts`);
  assert.equal(newest.registryItemVersion, "2");
  assert.deepEqual(newest.arguments, { epochs: "3", note: "a=b" });
  const exact = ["--script-version", "1", "--model-version", "v1", "--container", "local"];
  const first = JSON.parse(await rig.run(...custom, ...exact, "--model", "n"));
  assert.deepEqual(
    [first.registryItemVersion, first.modelVersion, first.containerVersion],
    ["1", "v1", "local"],
  );
  await assert.rejects(rig.run(...custom, "--model", "n", "--model-version", "v1"), {
    message: /^model_version: the training job \S+ is to make v1 of n/,
  });
  const lines = (await rig.run("list", "--json")).trim().split("\n");
  assert.deepEqual(lines.map((line) => JSON.parse(line).modelName), ["n", "m"]);
});

Deno.test("training submit says what is wrong with the command line and sends nothing", async () => {
  await using rig = await TrainingRig.open();
  await rig.dataset("shapes");
  const submit = ["submit", "--model", "m", "--dataset"];
  const cases: [argv: string[], message: RegExp][] = [
    [["none", "--script", "s"], /no dataset "none"; there is shapes/],
    [["shapes"], /^choose how to train: --type with --tags .* or --script/],
    [["shapes", "--script", "s", "--type", "single-label"], /do not go together/],
    [["shapes", "--type", "single-label"], /needs --tags A,B/],
    [["shapes", "--type", "multi-label", "--tags", "a", "--arg", "a=b"], /^--arg goes with --scr/],
    [["shapes", "--type", "multi-label", "--tags", "a", "--container", "x"], /^--container goes/],
    [["shapes", "--script", "s", "--tags", "a"], /^--tags goes with --type only/],
    [["shapes", "--script", "s", "--arg", "epochs"], /^--arg: "epochs" has not the form KEY=VALUE/],
    [["shapes", "--type", "boxes", "--tags", "a"], /allowed are single-label, multi-label, obj/],
  ];
  for (const [argv, message] of cases) {
    await assert.rejects(rig.run(...submit, ...argv), (error: unknown) => {
      assert.ok(error instanceof UsageError, `${argv}: ${error}`);
      assert.match(error.message, message);
      return true;
    });
  }
  await assert.rejects(rig.run(...submit, "shapes", "--script", "none"), { message: /none/ });
  assert.match(await rig.run("list"), /^no training jobs/);
});

Deno.test("training-script upload packs a folder as a Python source distribution", async () => {
  await using rig = await TrainingRig.open();
  const made = { ".git/HEAD": "", "model/__pycache__/training.pyc": "", "model.egg-info/x": "" };
  const folder = await rig.writeScript({ ...SCRIPT, ...made, "model/data/labels.txt": "a\n" });
  const flags = ["--type", "object-detection", "--framework", "tflite", "--draft"];
  const { version, size } = JSON.parse(
    await rig.script("upload", folder, "--name", "boxes", ...flags),
  );
  assert.match(version, /^\d{13}$/);
  assert.match(await rig.script("list"), new RegExp(`:boxes +${version} +organisation +2`));
  const rows = await rig.cloud.folder.database.queries.selectFrom("package_files").selectAll()
    .execute();
  assert.deepEqual(rows.map(({ metadata, size }) => ({ metadata: JSON.parse(metadata), size })), [{
    metadata: { draft: true, model_type: "object_detection", model_framework: "tflite" },
    size,
  }]);
  const blob = rig.cloud.path(join("blobs", rows[0]?.id ?? ""));
  const { files } = await readArchive(blob);
  assert.deepEqual(
    [...files].toSorted(),
    [
      ...["model/__init__.py", "model/data/labels.txt", "model/training.py", "setup.py"],
    ].map((path) => `boxes-${version}/${path}`),
  );
  const { details, type } = await rig.cloud.folder.database.queries.selectFrom("registry_items")
    .selectAll().executeTakeFirstOrThrow();
  assert.equal(type, "ml_training");
  assert.deepEqual(JSON.parse(details), {
    modelType: "MODEL_TYPE_OBJECT_DETECTION",
    modelFramework: "MODEL_FRAMEWORK_TFLITE",
    draft: true,
  });
});

Deno.test("training-script upload takes an archive, flat or in one folder, and refuses others", async () => {
  await using rig = await TrainingRig.open();
  const put = (prefix: string, files: Readonly<Record<string, string>>) =>
    writeArchive(
      rig.cloud.dataDir,
      "script.tar.gz",
      Object.fromEntries(Object.entries(files).map(([path, text]) => [prefix + path, text])),
    );
  const upload = async (archive: string, ...more: string[]) =>
    await rig.script("upload", archive, "--name", "counts", ...more);
  await upload(await put("", SCRIPT), "--version", "1");
  await upload(await put("counts-2/", SCRIPT), "--version", "2");
  await assert.rejects(upload(await put("", SCRIPT), "--version", "2"), {
    message: /^version: counts has 2 for any already/,
  });
  const { "model/training.py": _, ...without } = SCRIPT;
  const { "setup.py": __, ...bare } = SCRIPT;
  const cases: [string, Readonly<Record<string, string>>, RegExp][] = [
    ["", without, /has no model\/training\.py, which is what a job runs$/],
    ["", { ...without, "training.py": "" }, /which is what a job runs; there is trai/],
    ["a/", { "setup.py": "", "model/training.py": "" }, /has no model\/__init__\.py/],
    ["", bare, /has neither setup\.py nor pyproject\.toml/],
    ["../", SCRIPT, /leaves the archive/],
  ];
  for (const [prefix, files, message] of cases) {
    await assert.rejects(upload(await put(prefix, files)), { name: "ArchiveError", message });
  }
  await assert.rejects(upload(rig.cloud.path("none")), { name: "FileError" });
  await assert.rejects(upload(await put("", SCRIPT), "--name", "a b"), UsageError);
  await assert.rejects(upload(await put("", SCRIPT), "--version", "latest"), UsageError);
});

Deno.test("versionOfTime() is the local time with dashes", () => {
  assert.equal(versionOfTime(new Date(2026, 0, 2, 3, 4, 5)), "2026-01-02T03-04-05");
});
