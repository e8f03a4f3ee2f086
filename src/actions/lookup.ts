// Which action a call is about (docs/interface.md, "Which call is which action"), and what the journal says of it.
import { setImmediate as turnOfTheLoop } from "node:timers/promises";
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

interface Named {
  readonly names: Set<string>;
}

/** What the agents of one service have named. */
interface Hearing {
  /** Resolves when all of it so far is written down. */
  written: Promise<void>;
  /** What the calls of this moment name: the journal is asked about all of them at once. */
  named: Named | undefined;
}

type ServiceName = () => Promise<string>;

export function createLookup(journal: () => Promise<Journal>) {
  /** By whose they are: nobody waits for others. */
  const hearings = new WeakMap<ServiceName, Hearing>();

  function hearingOf(service: ServiceName): Hearing {
    const hearing = hearings.get(service) ?? { written: Promise.resolve(), named: undefined };
    hearings.set(service, hearing);
    return hearing;
  }

  async function write(service: ServiceName, hearing: Hearing, all: Named): Promise<void> {
    try {
      const open = await journal();
      const name = await service();
      // Whatever is named from here on is not among these.
      if (hearing.named === all) hearing.named = undefined;
      await open.markHeard(name, [...all.names]);
    } catch {
      // Where there is no journal or no login, the call itself says so.
      if (hearing.named === all) hearing.named = undefined;
    }
  }

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

    /** The agent has named these: it has heard of the actions whose keys they are, or that made what they name. */
    hear(service: ServiceName, names: readonly string[]): void {
      if (names.length === 0) return;
      const hearing = hearingOf(service);
      if (hearing.named) {
        for (const name of names) hearing.named.names.add(name);
        return;
      }
      const all = { names: new Set(names) };
      hearing.named = all;
      // The call goes first: its own request is on the way to the service while the journal is asked.
      const writing = turnOfTheLoop().then(() => write(service, hearing, all));
      hearing.written = Promise.all([hearing.written, writing]).then(() => undefined);
    },

    /** Resolves when all that was heard is written down. */
    heard: (service: ServiceName): Promise<void> => hearingOf(service).written,
  };
}
