// What a person is told of a command that failed, on stderr, and its exit code (docs/interface.md, "Program").

import { UsageError } from "../../config.ts";
import { Failure, reasonOf } from "../../failure.ts";
import type { Command } from "./command.ts";
import { forUser } from "./for-user.ts";
import { asUsageError } from "./usage.ts";

export interface Told {
  readonly code: 1 | 2;
  readonly reason: string;
}

export function tell(thrown: unknown, command: Command): Told {
  const error = asUsageError(thrown, command);
  const isUsage = error instanceof UsageError;
  const next = isUsage
    ? `Run mic-mcp ${command.name} --help for what it takes.`
    : error instanceof Failure
      ? forUser(error.facts).next
      : undefined;
  const reason = reasonOf(error);
  process.stderr.write(`mic-mcp: ${reason}\n${next === undefined ? "" : `${next}\n`}`);
  return { code: isUsage ? 2 : 1, reason };
}
