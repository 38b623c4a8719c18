/** Asks models what resources of theirs depend on, and remembers the answers. */
import { canonicalJson } from "../../../shared/base/json/json.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { validationErrorText } from "./node.ts";
import type { ImplicitDependencies, ModelRegistry, RegisteredModel } from "./registry.ts";
import { type ModelFacts, type ResourceSpec } from "./target.ts";

/** One question to a model. */
interface Question {
  readonly spec: ResourceSpec;
  readonly fingerprint: string;
  readonly model: RegisteredModel;
  readonly controller: AbortController;
  answer: ModelFacts;
}

/** Said of a resource while its module looks at its attributes. */
const CHECKING: ModelFacts = { pending: "its attributes are being checked" };

/**
 * Facts about resources by what their models say. Built-in models answer at once. A module is
 * asked in the background: until it answers the resource is pending, and `onAnswer` is called when
 * it has.
 */
export class ModelFactsSource {
  readonly #questions = new Map<string, Question>();

  constructor(
    private readonly registry: ModelRegistry,
    private readonly log: Logger,
    private readonly onAnswer: () => void,
  ) {}

  /** What is known of the resource now. */
  factsOf(key: string, spec: ResourceSpec): ModelFacts {
    if (spec.problem !== undefined || spec.pending !== undefined) return {};
    if (spec.builtBy) return { generation: spec.builtBy.generation };
    const found = this.registry.lookup(spec.api, spec.model);
    if (!("model" in found)) {
      this.#forget(key);
      return found;
    }
    const { model } = found;
    const base: ModelFacts = {
      generation: model.generation,
      ...(model.weakDependencies && { weak: model.weakDependencies }),
    };
    return model.dependencies ? { ...base, ...this.#ask(key, spec, model) } : base;
  }

  /** True when a module found attributes wrong, or could not be queried. */
  get hasFailures(): boolean {
    for (const { answer, model } of this.#questions.values()) {
      if (answer.problem !== undefined && model.module !== undefined) return true;
    }
    return false;
  }

  /** Asks again about resources whose last answer was an error. */
  forgetFailures(): void {
    for (const [key, { answer }] of this.#questions) {
      if (answer.problem !== undefined) this.#forget(key);
    }
  }

  /** Forgets resources that are not among these. */
  keepOnly(keys: ReadonlySet<string>): void {
    for (const key of this.#questions.keys()) if (!keys.has(key)) this.#forget(key);
  }

  #forget(key: string): void {
    this.#questions.get(key)?.controller.abort();
    this.#questions.delete(key);
  }

  #ask(key: string, spec: ResourceSpec, model: RegisteredModel): ModelFacts {
    const known = this.#questions.get(key);
    if (known?.model === model && known.spec === spec) return known.answer;
    const fingerprint = canonicalJson([model.generation, spec]);
    if (known?.model === model && known.fingerprint === fingerprint) return known.answer;
    this.#forget(key);
    const question: Question = {
      spec,
      fingerprint,
      model,
      controller: new AbortController(),
      answer: CHECKING,
    };
    this.#questions.set(key, question);
    try {
      const answer = model.dependencies!(spec, question.controller.signal);
      if (answer instanceof Promise) void this.#follow(key, question, answer);
      else question.answer = { ...answer };
    } catch (error) {
      question.answer = { problem: validationErrorText(error) };
    }
    return question.answer;
  }

  async #follow(
    key: string,
    question: Question,
    asked: Promise<ImplicitDependencies>,
  ): Promise<void> {
    let answer: ModelFacts;
    try {
      answer = { ...await asked };
    } catch (error) {
      answer = { problem: validationErrorText(error) };
    }
    if (this.#questions.get(key) !== question) return;
    question.answer = answer;
    this.log.debug(`${key} was checked by its module`, { ...answer });
    this.onAnswer();
  }
}
