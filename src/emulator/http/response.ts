// Builds HTTP responses with status, headers and body; each is complete before the first byte is sent.
import { stringify } from "lossless-json";
import { NO_STORE } from "../assumptions.ts";

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

export const encodeUtf8 = (text: string): Uint8Array => Buffer.from(text);

/** Returns compact JSON. JSON.stringify throws on a bigint; lossless-json writes its digits, but is several times slower. */
export function toJson(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return stringify(value) ?? "null";
  }
}

export const jsonResponse = (
  status: number,
  value: unknown,
  headers: Readonly<Record<string, string>> = {},
  contentType = "application/json",
): HttpResponse => ({
  status,
  headers: { "Content-Type": contentType, "Cache-Control": NO_STORE, ...headers },
  body: encodeUtf8(toJson(value)),
});

export const withHeaders = (response: HttpResponse, headers: Readonly<Record<string, string>>): HttpResponse => ({
  ...response,
  headers: { ...response.headers, ...headers },
});
