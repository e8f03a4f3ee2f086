// The stream of a session, for a server that sends its answers there: its POSTs say 202 and no more.
import { Client, type Dispatcher } from "undici";

export interface SessionStream {
  /** The message that answers this request. */
  answerTo(id: number): Promise<string>;
  close(): Promise<void>;
}

export async function openStream(url: URL, headers: Readonly<Record<string, string>>): Promise<SessionStream> {
  const client = new Client(url.origin, { bodyTimeout: 0 });
  const accept = "text/event-stream";
  const answer = await client.request({ method: "GET", path: url.pathname, headers: { ...headers, accept } });
  if (answer.statusCode !== 200) throw new Error(`no stream: ${answer.statusCode}`);
  const waiting = new Map<number, (message: string) => void>();
  const come = new Map<number, string>();

  function take(message: string): void {
    const id = Number(/"id":(\d+)[,}]/.exec(message)?.[1]);
    const told = waiting.get(id);
    waiting.delete(id);
    if (told) told(message);
    else come.set(id, message);
  }

  async function hear(body: Dispatcher.ResponseData["body"]): Promise<void> {
    let rest = "";
    for await (const chunk of body.setEncoding("utf8")) {
      const lines = (rest + String(chunk)).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("data: ")) take(line.slice("data: ".length).trimEnd());
    }
  }
  // It ends when it is closed.
  hear(answer.body).catch(() => undefined);

  return {
    answerTo(id) {
      const message = come.get(id);
      come.delete(id);
      return message === undefined ? new Promise((resolve) => waiting.set(id, resolve)) : Promise.resolve(message);
    },
    close: () => client.destroy(),
  };
}
