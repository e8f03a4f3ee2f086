// The SDK's HTTP transport with the error codes of the revisions before 2026-07-28.
import { WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { withLegacyCode } from "../messages/legacy-codes.ts";

type Send = WebStandardStreamableHTTPServerTransport["send"];

export class LegacyTransport extends WebStandardStreamableHTTPServerTransport {
  override async send(message: Parameters<Send>[0], options?: Parameters<Send>[1]): Promise<void> {
    await super.send(withLegacyCode(message), options);
  }
}
