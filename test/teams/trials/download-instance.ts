// An instance that redeems links to files, in a process of its own: its task as JSON on the command line, its URL as a line on stdout.
import * as z from "zod/v4";
import { startFileHouse } from "../file-house.ts";

const Task = z.object({
  keys: z.string(),
  teams: z.record(z.string(), z.record(z.string(), z.string())),
  links: z.enum(["ticket", "bearer"]),
});

const house = await startFileHouse(Task.parse(JSON.parse(process.argv[2] ?? "")));
process.stdout.write(`${JSON.stringify(house.url)}\n`);
