// A team has one workspace: what names another one is not sent, and not written down as an action.
import type { ServiceActions } from "../../actions/of-service.ts";
import { isJsonObject } from "../../contract/json.ts";
import { Failure } from "../../failure.ts";
import { quote } from "../../outside.ts";
import type { EncodedRequest } from "../../service/encode.ts";

const NAME = "workspaceId";

const foreign = (given: string, own: string): Failure =>
  new Failure({
    kind: "forbidden",
    message: `Your team's workspace is ${quote(own)}, and no other: nothing was asked of ${quote(given)}.`,
    retryable: false,
    sideEffect: "none",
    next: `Leave ${NAME} out, or ask the user to connect as a member of the team that has that workspace.`,
  });

function refuse(given: unknown, own: string): void {
  if (given !== undefined && given !== null && given !== own) throw foreign(String(given), own);
}

/** Throws Failure `forbidden` for a request that names another workspace, in its query or its body. */
export const admitOnly =
  (own: string) =>
  ({ path, body }: EncodedRequest): void => {
    const [, query] = path.split("?");
    if (query !== undefined) for (const given of new URLSearchParams(query).getAll(NAME)) refuse(given, own);
    const sent: unknown = body === "" ? undefined : JSON.parse(body);
    if (isJsonObject(sent)) refuse(sent[NAME], own);
  };

/** The same actions, but for those that name another workspace: they throw Failure `forbidden` before anything is written. */
export const actionsWithin = (actions: ServiceActions, own: string): ServiceActions => ({
  ...actions,
  async perform(call) {
    refuse(call.arguments[NAME], own);
    return await actions.perform(call);
  },
});
