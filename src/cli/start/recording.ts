// What the SDK's server says to a client's first questions, as the build has recorded it: for each setting and protocol version.

export interface Setting {
  readonly geography: boolean;
  readonly jobs: boolean;
  readonly readOnly: boolean;
  /** Whether there is a default workspace. */
  readonly workspace: boolean;
}

export const SETTINGS: readonly Setting[] = [
  [true, true],
  [true, false],
  [false, true],
].flatMap(([geography = false, jobs = false]) =>
  [false, true].flatMap((readOnly) => [false, true].map((workspace) => ({ geography, jobs, readOnly, workspace }))),
);

/** Stands for the default workspace in what is recorded. */
export const RECORDED_WORKSPACE = "workspace_of_the_recording";

export const FIRST_METHODS = ["initialize", "server/discover", "tools/list"] as const;
export type FirstMethod = (typeof FIRST_METHODS)[number];

/** Results differ in little: each is a row of pieces, which many of them share. */
export interface Recording {
  readonly pieces: readonly string[];
  /** The pieces that make a result's JSON text. */
  readonly rows: readonly (readonly number[])[];
  /** By `questionOf`: the row that answers it; many questions have the same answer. */
  readonly results: Readonly<Record<string, number>>;
}

/** `views`: the list for a client that shows views. */
export const questionOf = (
  { geography, jobs, readOnly, workspace }: Setting,
  method: FirstMethod,
  protocolVersion: string,
  views: boolean,
): string =>
  [
    method,
    protocolVersion,
    ...[geography, jobs, readOnly, workspace, views && method === "tools/list"].map(Number),
  ].join(" ");
