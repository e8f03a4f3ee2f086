// Asks the person before something is discarded, where the client can ask: one handler for both protocol eras. This is a
// courtesy to the person, not a security boundary: a client may answer by itself.
import { randomBytes } from "node:crypto";
import {
  createRequestStateCodec,
  type InputRequiredResult,
  inputRequired,
  inputResponse,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from "@modelcontextprotocol/server";
import * as z from "zod/v4";
import { canonicalArguments, sha256Hex } from "../../actions/canonical-json.ts";
import { generateKey } from "../../actions/idempotency-keys.ts";
import { Failure } from "../../core/failure.ts";
import type { ConfirmationRequest, Tool } from "../../toolkit/define-tool.ts";
import type { ToolCall } from "../../toolkit/tool-call.ts";
import type { ConfirmationCodec, Runtime } from "../runtime.ts";

/** How long a person may take to answer. */
export const ANSWER_SECONDS = 600;
const CONFIRM = "confirm";

/** What a question is about. It is encrypted, since it comes back through the client. */
const ConfirmationState = z.strictObject({
  tool: z.string(),
  argumentsHash: z.string(),
  key: z.string(),
  shownVersion: z.int().optional(),
});

export type Consent =
  | { readonly ask: InputRequiredResult }
  /** `key`: the Idempotency-Key of the action that the person agreed to; `shownVersion`: the job's version in the question. */
  | { readonly go: true; readonly key?: string; readonly shownVersion?: number | undefined };

export const GO: Consent = { go: true };

const Capabilities = z.object({ elicitation: z.looseObject({ form: z.unknown(), url: z.unknown() }).partial() });

/** Whether a client with these capabilities can show a form; `elicitation: {}` means that it can. */
function canAsk(capabilities: unknown): boolean {
  const elicitation = Capabilities.safeParse(capabilities).data?.elicitation;
  return elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
}

const declined = (tool: string): Failure =>
  new Failure({
    kind: "cancelled",
    message: `The person was asked and did not agree to ${tool}; nothing was sent.`,
    retryable: false,
    sideEffect: "none",
    next: "Do not call it again unless the user asks for it.",
  });

const foreign = (): ProtocolError =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, "Invalid or expired requestState", {
    reason: "invalid_request_state",
  });

export type Confirmation = ReturnType<typeof createConfirmation>;

/** Where the runtime has no key of its own, each process makes one: no other can open what it has encrypted. */
export function createConfirmation({ config, ports, confirmationCodec }: Runtime) {
  const codec: ConfirmationCodec =
    confirmationCodec ??
    createRequestStateCodec({
      key: randomBytes(32),
      ttlSeconds: ANSWER_SECONDS,
      // One process may serve many sessions: none can open what was encrypted for another.
      bind: ({ mcpReq, sessionId = "" }) => JSON.stringify([mcpReq.method, sessionId]),
    });

  /** The person agreed to actions of the journal, or they needed no consent, when they were made. */
  async function isResumed({ actions }: ConfirmationRequest): Promise<boolean> {
    if (!actions) return false;
    try {
      for (const action of actions) if ((await ports.actions.findExisting(action)) === undefined) return false;
      return true;
    } catch {
      // The call itself fails in the same way and says why.
      return true;
    }
  }

  return {
    /** Opens, for the SDK, what came back with a request. Throws when that is not ours, altered, or too old. */
    verify: codec.verify,

    /**
     * Checks the arguments and looks at the job first: nobody is asked about what cannot be done. Throws Failure and
     * ProtocolError.
     */
    async seek(
      tool: Tool,
      args: Readonly<Record<string, unknown>>,
      context: ServerContext,
      capabilities: unknown,
      call: ToolCall,
    ): Promise<Consent> {
      const question = config.confirm === "never" ? undefined : tool.question(args);
      if (!question || !canAsk(capabilities)) return GO;
      const argumentsHash = sha256Hex(canonicalArguments({ ...args }));
      const carried = context.mcpReq.requestState<unknown>();
      const state = carried === undefined ? undefined : ConfirmationState.safeParse(carried).data;
      if (carried !== undefined && (state?.tool !== tool.name || state.argumentsHash !== argumentsHash))
        throw foreign();
      if (state) {
        const response = inputResponse(context.mcpReq.inputResponses, CONFIRM);
        if (response.kind === "elicit") {
          if (response.action !== "accept" || response.content?.[CONFIRM] === false) throw declined(tool.name);
          return { go: true, key: state.key, shownVersion: state.shownVersion };
        }
      } else if (await isResumed(question)) return GO;
      const key = state?.key ?? question.idempotencyKey ?? generateKey();
      const prepared = await question.prepare(call);
      if (!prepared) return GO;
      return {
        ask: inputRequired({
          inputRequests: {
            [CONFIRM]: inputRequired.elicit({
              message: prepared.text,
              requestedSchema: { type: "object", properties: {} },
            }),
          },
          requestState: await codec.mint(
            { tool: tool.name, argumentsHash, key, shownVersion: prepared.resourceVersion },
            context,
          ),
        }),
      };
    },
  };
}
