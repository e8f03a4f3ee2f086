// The name of a service in the journal: the scope of idempotency keys, as JSON of two texts.
import * as z from "zod/v4";

const ServiceName = z.tuple([z.string(), z.string()]);

/** Returns base URL and client id. A composition may use other texts, such as the caller's. */
export const parseServiceName = (service: string) => ServiceName.parse(JSON.parse(service));
