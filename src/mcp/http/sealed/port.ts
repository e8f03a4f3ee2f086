// What sealed sessions need of their deployment: instances that hear each other, and rows that all of them see.

/** Tells all instances, this one included. */
export interface Notices {
  send(channel: string, text: string): Promise<void>;
  /** Hears what is sent from now on; call the returned function to hear no more. `missed`: some may not have been heard. */
  on(channel: string, hear: (text: string) => void, missed: () => void): () => void;
}

export interface Subscribed {
  readonly uri: string;
  /** Which version of it the client can know of; null where it could not be read when the client subscribed. */
  readonly version: number | null;
}

/** Times are in milliseconds since 1970; from then on a row counts for nothing. */
export interface SessionRows {
  /** False where the session has subscribed to `max` others. */
  subscribe(session: string, subscribed: Subscribed, bounds: { until: number; max: number }): Promise<boolean>;
  unsubscribe(session: string, uri: string): Promise<void>;
  /** Its client has been told of this version. */
  told(session: string, subscribed: Subscribed): Promise<void>;
  subscriptions(session: string): Promise<readonly Subscribed[]>;
  /** A call waits for the person's answer to this question. */
  ask(session: string, question: string, until: number): Promise<void>;
  /** Keeps the JSON of an answer for the call that asked. False where none waits for it. */
  answer(session: string, question: string, json: string): Promise<boolean>;
  /** Gives an answer out, once. */
  takeAnswer(session: string, question: string): Promise<string | undefined>;
  /** Nobody waits for the answer any more. */
  withdraw(session: string, question: string): Promise<void>;
  /** Forgets all that is kept of a session. */
  end(session: string): Promise<void>;
}
