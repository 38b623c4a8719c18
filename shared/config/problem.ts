/** One thing that is wrong (or, as a warning, unusual) in a configuration. */
export interface ConfigProblem {
  /** Where, in JSON-path form: `components[0].name`. Empty for the document itself. */
  path: string;
  /** What is wrong, in words: `the name has a character that is not allowed`. */
  message: string;
  /** What stands there, shortened; `******` where a secret stands; `nothing` when it is missing. */
  found: string;
  /** What may stand there. Empty when the message says it all. */
  allowed: string;
  /** True when nothing of the configuration can be used (problems in cloud, network, auth). */
  fatal: boolean;
}
