// Defines the data of one workspace.
import { BoundedMap } from "../../core/bounded-map.ts";
import { ID_PREFIX, MAX_ENTRIES } from "../assumptions.ts";
import type { Clock } from "../clock.ts";
import { createCursors } from "../cursors.ts";
import type { IdGenerator } from "../ids.ts";
import { createFiles } from "./files.ts";
import type { InputRecord } from "./inputs.ts";
import { Jobs, type OperationRecord } from "./jobs.ts";
import type { ProcessingRequestRecord } from "./processing-requests.ts";
import { createRecipes } from "./recipes.ts";
import { Usage } from "./usage.ts";

/** Stores resources by id. Seeded resources are kept forever, and the latest MAX_ENTRIES.others of the added ones. */
export class Collection<T extends { readonly id: string }> {
  readonly #seeded = new Map<string, T>();
  readonly #added = new BoundedMap<string, T>(MAX_ENTRIES.others);

  seed(record: T): T {
    this.#seeded.set(record.id, record);
    return record;
  }

  add(record: T): T {
    this.#added.set(record.id, record);
    return record;
  }

  find(id: string): T | undefined {
    return this.#seeded.get(id) ?? this.#added.get(id);
  }

  get seeded(): readonly T[] {
    return [...this.#seeded.values()];
  }
}

export type World = ReturnType<typeof createWorld>;

export function createWorld(clock: Clock, ids: IdGenerator, stageMs: number) {
  const startedAt = clock.now();
  const workspaceId = ids.next(ID_PREFIX.workspace);
  return {
    clock,
    ids,
    cursors: createCursors(),
    stageMs,
    workspaceId,
    files: createFiles(ids),
    /** In the order of `recipeVersionIds`, with expired recipes at the end. */
    recipes: createRecipes(ids, workspaceId, startedAt),
    inputs: new Collection<InputRecord>(),
    jobs: new Jobs(),
    operations: new Collection<OperationRecord>(),
    processingRequests: new Collection<ProcessingRequestRecord>(),
    /** The latest processing request for each `<inputId> <recipeVersionId>`. */
    permissions: new BoundedMap<string, ProcessingRequestRecord>(MAX_ENTRIES.others),
    usage: new Usage(startedAt),
  };
}
