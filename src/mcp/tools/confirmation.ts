// Asks the user for confirmation before a call discards something, if the client can ask. One handler serves all protocol revisions.
// This is a convenience for the user, not a security boundary: a client may answer without asking the user.
import { randomBytes } from "node:crypto";
import {
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import type { Actions } from "../../actions/actions.ts";
import { canonicalArguments, sha256Hex } from "../../actions/fingerprint.ts";
import { generateKey } from "../../actions/idempotency-keys.ts";
import type { ConfirmationRequest, Tool } from "../../toolkit/define-tool.ts";
import type { ToolContext } from "../../toolkit/tool-context.ts";
import { invalidParams } from "../invalid-params.ts";
import type { ConfirmationCodec, Runtime } from "../runtime.ts";

export const CONFIRMATION_TTL_SECONDS = 600;
const CONFIRM = "confirm";

/** The subject of a question. It is signed, and encrypted in a deployment, because it passes through the client. */
const ConfirmationState = z.strictObject({
  tool: z.string(),
  argumentsHash: z.string(),
  key: z.string(),
  shownVersion: z.int().optional(),
});

export type Consent =
  | { readonly ask: InputRequiredResult }
  | { readonly declined: true }
  /** `key`: the idempotency key of the action that the user confirmed; `shownVersion`: the job's version in the question. */
  | { readonly go: true; readonly key?: string; readonly shownVersion?: number | undefined };

export const PROCEED = { go: true } as const satisfies Consent;

const Capabilities = z.object({ elicitation: z.looseObject({ form: z.unknown(), url: z.unknown() }).partial() });

/** Whether a client with these capabilities can show a form; `elicitation: {}` means that it can. */
function canElicit(capabilities: unknown): boolean {
  const elicitation = Capabilities.safeParse(capabilities).data?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

/** Whether the journal contains all actions of the call: then they were confirmed, or needed no confirmation, at their first call. */
export async function isAlreadyConfirmed(
  { actions }: ConfirmationRequest,
  journal: Pick<Actions, "findExisting">,
): Promise<boolean> {
  if (!actions) return false;
  try {
    for (const action of actions) if ((await journal.findExisting(action)) === undefined) return false;
    return true;
  } catch {
    // The call itself fails in the same way and reports the reason.
    return true;
  }
}

export type Confirmation = ReturnType<typeof createConfirmation>;

/** Creates the handler. If the runtime has no codec, each process signs with its own key, and no other process accepts the state. */
export function createConfirmation({ config, ports, confirmationCodec }: Runtime) {
  const codec: ConfirmationCodec =
    confirmationCodec ??
    createRequestStateCodec({
      key: randomBytes(32),
      ttlSeconds: CONFIRMATION_TTL_SECONDS,
      // One process may serve many sessions: none may use the state of another session.
      bind: ({ mcpReq, sessionId = "" }) => JSON.stringify([mcpReq.method, sessionId]),
    });

  return {
    /** Whether a call of this tool may ask the user of a client with these capabilities. */
    mayAsk: (tool: Tool, capabilities: unknown): boolean =>
      tool.confirmationFor !== undefined && config.confirm !== "never" && canElicit(capabilities),

    /** Verifies, for the SDK, the state in a request. Throws if this server did not issue it, or if it was changed or has expired. */
    verify: codec.verify,

    /** Only for a client that `mayAsk` accepts. Reads the job first, so that the user is not asked about an impossible action. Throws Failure. */
    async requestConsent(
      question: ConfirmationRequest,
      args: Readonly<Record<string, unknown>>,
      context: ServerContext,
      ctx: ToolContext,
    ): Promise<Consent> {
      const argumentsHash = sha256Hex(canonicalArguments({ ...args }));
      const requestState = context.mcpReq.requestState<unknown>();
      const state = requestState === undefined ? undefined : ConfirmationState.safeParse(requestState).data;
      if (requestState !== undefined && (state?.tool !== ctx.tool || state.argumentsHash !== argumentsHash))
        throw invalidParams("Invalid or expired requestState", {
          reason: "invalid_request_state",
        });
      if (state) {
        const response = inputResponse(context.mcpReq.inputResponses, CONFIRM);
        if (response.kind === "elicit") {
          if (response.action !== "accept" || response.content?.[CONFIRM] === false) return { declined: true };
          return { go: true, key: state.key, shownVersion: state.shownVersion };
        }
      } else if (await isAlreadyConfirmed(question, ports.actions)) return PROCEED;
      const key = state?.key ?? question.idempotencyKey ?? generateKey();
      const prepared = await question.prepare(ctx);
      if (!prepared) return PROCEED;
      return {
        ask: inputRequired({
          inputRequests: {
            [CONFIRM]: inputRequired.elicit({
              message: prepared.text,
              requestedSchema: { type: "object", properties: {} },
            }),
          },
          requestState: await codec.mint(
            { tool: ctx.tool, argumentsHash, key, shownVersion: prepared.resourceVersion },
            context,
          ),
        }),
      };
    },
  };
}
