import { serveJobs } from "../../../shared/base/process/job_child.ts";
import { InferenceRefusedError } from "../../../shared/inference/tensors.ts";
import { ImageError, loadDecoders } from "../../../shared/image/decode.ts";
import { type ImageJob, runImageJob } from "./image_jobs.ts";
import { PointCloudError } from "./point_cloud_text.ts";

/**
 * Works on images until standard input ends. A process of its own, as decoding one takes tens of
 * milliseconds in which no call would be answered; and as images come from elsewhere, it drops
 * its rights to files, network and programs.
 */
export async function runImageProcess(): Promise<void> {
  // Loaded now, as files cannot be read later.
  await loadDecoders();
  for (const name of ["net", "write", "run", "env", "ffi", "sys", "read"] as const) {
    await Deno.permissions.revoke({ name });
  }
  await serveJobs<ImageJob>(
    runImageJob,
    (error) =>
      error instanceof ImageError || error instanceof PointCloudError ||
      error instanceof InferenceRefusedError,
  );
}
