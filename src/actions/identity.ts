// Which call is which action: decided by what a call does, not by how it is worded (docs/interface.md, "Which call is which action").
import { canonicalArguments, hashOf } from "./canonical.ts";

/** What distinguishes the actions of one tool: names of its arguments. */
export interface ActionTraits {
  /** Names what the action is about. */
  readonly about: string;
  /** Says why, in words: no part of the action. */
  readonly wording?: readonly string[];
  /** Labels what is made: another label is another action, but not while the first may still be on its way. */
  readonly notes?: readonly string[];
}

export interface ActionIdentity {
  /** All arguments. */
  readonly canonical: string;
  /** Of all but the wording: equal for calls that are the same action. */
  readonly subjectHash: string;
  /** Of all but wording and notes: equal for calls that may be one and the same, reworded. */
  readonly workHash: string;
  /** The id of what the action is about. */
  readonly about: string;
}

/** What a tool is called with. */
export type Arguments = Readonly<Record<string, unknown>>;

const without = (args: Arguments, names: readonly string[]): Arguments =>
  Object.fromEntries(Object.entries(args).filter(([name]) => !names.includes(name)));

/** `args`: without the idempotencyKey. */
export function identify(args: Arguments, { about, wording = [], notes = [] }: ActionTraits): ActionIdentity {
  const subject = canonicalArguments(without(args, wording));
  const work = canonicalArguments(without(args, [...wording, ...notes]));
  return {
    canonical: canonicalArguments(args),
    subjectHash: hashOf(subject),
    workHash: hashOf(work),
    about: String(args[about] ?? ""),
  };
}
