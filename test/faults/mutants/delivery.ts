// Whether the agent has been told: an outcome that nobody can have read was not sent, and what is unknown is no outcome.
import { inside, type Mutant, outside } from "./mutant.ts";

const journal = inside("test/actions/journal.test.ts", "SQLite ");
const machine = inside("test/actions/machine.test.ts");
const repeat = inside("test/actions/repeat.test.ts");
const unread = outside("test/faults/unread.test.ts");

export const deliveryMutants: readonly Mutant[] = [
  {
    what: "an answer that was cancelled just behind it counts as read",
    code: "cancelled: unread,",
    instead: "cancelled: () => undefined,",
    seenBy: repeat("a client that cancels just behind the answer has not read it"),
  },
  {
    what: "an answer whose reader died just then counts as read",
    code: "for (const id of fresh()) unread(id);",
    instead: "",
    seenBy: unread("a client that dies with the answer unread, on SQLite"),
  },
  {
    what: "an answer that could not be written counts as sent",
    code: "if (!error) isOut?.();",
    instead: "isOut?.();",
    seenBy: unread("an answer into a broken pipe"),
  },
  {
    what: "the process ends before it is written down what was sent",
    code: "await deliveries.settled();\n  };\n}",
    instead: "};\n}",
    seenBy: unread("a client that dies with the answer unread, on PostgreSQL"),
  },
  {
    what: "an answer counts as unread although it was sent again since",
    code: "AND delivered_at = $5 AND state = 'succeeded' AND heard_at IS NULL",
    instead: "AND $5 > 0 AND state = 'succeeded' AND heard_at IS NULL",
    seenBy: journal("what nobody can have read was not sent, however long ago; unless it was sent again"),
  },
  {
    what: "an unread answer takes its subject from the action that has it by now",
    code: "AND twin.subject_hash = $4 AND twin.delivered_at IS NULL)",
    instead: "AND twin.subject_hash = $4 AND twin.delivered_at < 0)",
    seenBy: journal("what is unread leaves its subject to the action that has it by now"),
  },
  {
    what: "an unknown outcome counts as told",
    code: "\n             AND state IN ('succeeded', 'rejected') RETURNING",
    instead: " RETURNING",
    seenBy: journal("told is what was told, not what has been taken up again since"),
  },
  {
    what: "what was told of an earlier end counts for the later one",
    code: "AND key = $2 AND state = $3 AND attempts = $4",
    instead: "AND key = $2 AND $3 <> '' AND $4 >= 0",
    seenBy: machine("an answer that leaves late tells nothing of what the action has come to since"),
  },
];
