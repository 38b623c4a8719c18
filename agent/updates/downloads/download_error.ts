/** Why a version could not be brought here. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
  /**
   * What the address gave is wrong. It is remembered: until {@link retryAt} the same target is
   * refused at once with the same reason. Otherwise the way was cut or the disk full; the next call
   * resumes from what is here.
   */
  readonly permanent: boolean;
  /** What was wrong and what to do; holds no secret. */
  readonly reason: string;
  /** No request is made before. */
  readonly retryAt: Date;

  constructor(permanent: boolean, reason: string, retryAt: Date, cause?: unknown) {
    super(reason, cause === undefined ? undefined : { cause });
    this.permanent = permanent;
    this.reason = reason;
    this.retryAt = retryAt;
  }
}
