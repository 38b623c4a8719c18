import type { JsonPath } from "../readings/json_path.ts";

export interface CommandAttributes {
  program: string;
  args: string[] | undefined;
  cwd: string | undefined;
  env: Record<string, string> | undefined;
  timeout: number | undefined;
  min_interval: number | undefined;
  path: JsonPath | undefined;
  pattern: string | undefined;
}
