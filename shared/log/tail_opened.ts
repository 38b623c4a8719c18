/**
 * Header of a TailRobotPartLogs call whose caller wants an empty first message, which says that no
 * line is missed from then on. Others get lines alone, as programs of the family expect.
 */
export const TAIL_OPENED_HEADER = "x-tail-opened";
/** The header as a call takes it. */
export const TAIL_OPENED: Readonly<Record<string, string>> = { [TAIL_OPENED_HEADER]: "1" };
