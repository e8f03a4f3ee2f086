// Which action a call is about (docs/interface.md, "Which call is which action"), and what the journal says of it.
import type { Failure } from "../failure.ts";
import { readCanonical } from "./canonical.ts";
import { type ActionIdentity, type ActionTraits, identify } from "./identity.ts";
import type { Journal, StoredAction } from "./journal.ts";
import { isOwnKey } from "./keys.ts";
import { outcomeUnreadable } from "./trouble.ts";
import { settleFirst, unknownKey } from "./unknown-outcome.ts";

/** What identifies the action that a call is about. */
export interface NamedCall {
  /** Whose keys these are: base URL and client. */
  readonly service: string;
  readonly tool: string;
  /** Without the idempotencyKey. */
  readonly arguments: Readonly<Record<string, unknown>>;
  readonly traits: ActionTraits;
  readonly explicitKey: string | undefined;
  /** The key of a new action, where none is given: the one that a person has agreed to. */
  readonly proposedKey?: string | undefined;
}

/**
 * The action that a call is about, if it is in the journal. `key`: of one that the call is known to be about. `cameAt`: when the call
 * came, by the journal's time.
 */
export async function findAction(
  open: Journal,
  { service, tool, proposedKey }: NamedCall,
  key: string | undefined,
  { subjectHash }: ActionIdentity,
  cameAt?: number,
): Promise<StoredAction | undefined> {
  if (key !== undefined) return await open.find(service, key);
  const agreed = proposedKey === undefined ? undefined : await open.find(service, proposedKey);
  return agreed ?? (await open.findSame(service, tool, subjectHash, cameAt));
}

/** Why no new action may be made of a call: it might be an old one that its agent words otherwise, or names wrongly. */
export async function whyDoubtful(
  open: Journal,
  { service, tool, explicitKey }: NamedCall,
  identity: ActionIdentity,
): Promise<Failure | undefined> {
  if (explicitKey !== undefined) return isOwnKey(explicitKey) ? unknownKey(explicitKey) : undefined;
  const reworded = await open.findReworded(service, tool, identity);
  return reworded && settleFirst(reworded, tool, identity.canonical);
}

export function createLookup(journal: () => Promise<Journal>) {
  return {
    /** Whether such a call would be about an action that is in the journal already. Throws Failure, also where it would be refused. */
    async isKnown(call: NamedCall): Promise<boolean> {
      const open = await journal();
      const identity = identify(call.arguments, call.traits);
      const stored = await findAction(open, call, call.explicitKey, identity);
      const doubtful = stored ? undefined : await whyDoubtful(open, call, identity);
      if (doubtful) throw doubtful;
      return stored !== undefined;
    },

    /** The arguments of the action that has this key; undefined where there is none of this tool. Throws Failure. */
    async recall(service: string, tool: string, key: string): Promise<NamedCall["arguments"] | undefined> {
      const stored = await journal()
        .then((open) => open.find(service, key))
        .catch((error: unknown) => Promise.reject(outcomeUnreadable(error, key)));
      if (!stored && isOwnKey(key)) throw unknownKey(key);
      return stored?.tool === tool ? readCanonical(stored.arguments) : undefined;
    },
  };
}
