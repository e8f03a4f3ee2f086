// One request for each key, shared by all callers that ask meanwhile; aborted when the last of them stops waiting.
import { unlessAborted } from "../async.ts";

interface SharedRequest<T> {
  readonly answer: Promise<T>;
  readonly controller: AbortController;
  waiting: number;
}

export class SharedRequests<T> {
  readonly #requests = new Map<string, SharedRequest<T>>();

  /** Joins the request under this key, or starts one. */
  async join(key: string, signal: AbortSignal, start: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const request = this.#requests.get(key) ?? this.#start(key, start);
    request.waiting += 1;
    try {
      return await unlessAborted(request.answer, signal);
    } finally {
      request.waiting -= 1;
      if (request.waiting === 0) {
        this.#end(key, request);
        request.controller.abort();
      }
    }
  }

  has(key: string): boolean {
    return this.#requests.has(key);
  }

  #start(key: string, start: (signal: AbortSignal) => Promise<T>): SharedRequest<T> {
    const controller = new AbortController();
    const answer = start(controller.signal);
    const request: SharedRequest<T> = { answer, controller, waiting: 0 };
    this.#requests.set(key, request);
    const end = (): void => this.#end(key, request);
    answer.then(end, end);
    return request;
  }

  #end(key: string, request: SharedRequest<T>): void {
    if (this.#requests.get(key) === request) this.#requests.delete(key);
  }
}
