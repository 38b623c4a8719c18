import type { Text } from "../../texts/text.ts";
import { triggers as words } from "../../texts/triggers.ts";
import { isCaptureMethod, isSpaced, type TriggerForm } from "./trigger_form.ts";

/** What is missing in a number or text of the form; undefined: nothing. */
export function secondsProblem(text: string): Text | undefined {
  const isFine = text.trim() === "" || (Number(text) >= 0 && Number.isFinite(Number(text)));
  return isFine ? undefined : words.numberWrong;
}

/** What is wrong with a text that must not be empty. */
export function emptyProblem(text: string, problem: Text): Text | undefined {
  return text.trim() === "" ? problem : undefined;
}

/** What is wrong with the name of a method whose data is looked at. */
export function methodProblem(text: string): Text | undefined {
  if (text.trim() === "") return words.methodMissing;
  return isCaptureMethod(text.trim()) ? undefined : words.methodWrong;
}

/** What is wrong with the choice of the event; undefined: nothing. */
export function choiceProblem(form: TriggerForm): Text | undefined {
  const isEmpty = (form.event === "part_data_ingested" && form.dataTypes.length === 0) ||
    (form.event === "conditional_logs_ingested" && form.logLevels.length === 0);
  return isEmpty ? words.kindMissing : undefined;
}

/** Nothing is missing; the cloud checks the rest when it is saved. */
export function isComplete(form: TriggerForm): boolean {
  const { name, receivers, event, method, conditions } = form;
  if (name.trim() === "" || receivers.length === 0 || choiceProblem(form)) return false;
  if (receivers.some(({ kind, value }) => kind !== "push" && value.trim() === "")) return false;
  // Where they mean nothing, no field shows what is wrong with them.
  if (isSpaced(event) && receivers.some(({ seconds }) => secondsProblem(seconds))) return false;
  if (event !== "conditional_data_ingested") return true;
  return methodProblem(method) === undefined &&
    conditions.every(({ value }) => value.trim() !== "");
}
