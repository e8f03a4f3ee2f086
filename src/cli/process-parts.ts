// What a process has once, however many it serves: transport, journal and the machine of the actions, log, skills.
import { tools } from "../../tools/index.ts";
import { type Actions, createActions } from "../actions/actions.ts";
import type { JournalHandle } from "../actions/open.ts";
import type { Redactor } from "../auth/redaction.ts";
import type { Config } from "../config.ts";
import type { Log } from "../mcp/runtime.ts";
import { createSkills, type Skills } from "../mcp/skills/skills.ts";
import { isOfferedTool } from "../mcp/tools/offered-tools.ts";
import { isGone } from "../owner.ts";
import { systemTiming, type Timing } from "../service/attempts.ts";
import type { Transport } from "../service/transport.ts";
import { readSkillFiles } from "../skills.ts";
import type { Telemetry } from "../telemetry/port.ts";

export interface ProcessParts {
  readonly config: Config;
  readonly log: Log;
  readonly transport: Transport;
  readonly timing: Timing;
  readonly journal: JournalHandle;
  /** One for all: it knows what this process is working on, whoever asked for it. */
  readonly actions: Actions;
  readonly skills: Skills;
  /** Absent: nobody asked for it. */
  readonly telemetry?: Telemetry | undefined;
}

interface Given extends Pick<ProcessParts, "config" | "log" | "transport" | "journal" | "telemetry"> {
  readonly redactor: Redactor;
}

export const processParts = ({ config, log, transport, journal, redactor, telemetry }: Given): ProcessParts => ({
  config,
  log,
  transport,
  timing: systemTiming,
  journal,
  actions: createActions({
    journal: journal.open,
    timing: systemTiming,
    monotonicMs: () => performance.now(),
    isGone,
    redact: redactor.redact,
    onTrouble: (reason) => log.error({ reason }, "the action journal could not be written"),
  }),
  skills: createSkills(readSkillFiles, (tool) => isOfferedTool(tool, tools, config)),
  telemetry,
});
