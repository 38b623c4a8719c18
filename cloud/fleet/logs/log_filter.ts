/** Which lines are requested; everything left out requests all. */
export interface LogFilter {
  /** Normalised levels. */
  readonly levels?: readonly string[] | undefined;
  /** Part of the message or of the logger's name, in any case. */
  readonly text?: string | undefined;
  /** A logger and what is below it: `rdk` requests `rdk.config` too. */
  readonly source?: string | undefined;
  readonly fromNs?: bigint | undefined;
  /** Exclusive. */
  readonly toNs?: bigint | undefined;
}

interface Filterable {
  readonly timeNs: bigint;
  readonly level: string;
  readonly logger: string;
  readonly message: string;
}

/** Texts whose letters have one case each for the databases, too. */
export const ASCII = /^[\x20-\x7e]*$/;

/** The filter as a function; `sqlCondition` of the stores says the same in SQL. */
export function matcher(filter: LogFilter): (line: Filterable) => boolean {
  const text = filter.text?.toLowerCase();
  const { levels, source, fromNs, toNs } = filter;
  return (line) =>
    (levels === undefined || levels.length === 0 || levels.includes(line.level)) &&
    (!source || line.logger === source || line.logger.startsWith(`${source}.`)) &&
    (fromNs === undefined || line.timeNs >= fromNs) &&
    (toNs === undefined || line.timeNs < toNs) &&
    (!text || line.message.toLowerCase().includes(text) ||
      line.logger.toLowerCase().includes(text));
}
