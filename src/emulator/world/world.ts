// Defines the data of one workspace.
import { BoundedMap } from "../../core/bounded-map.ts";
import { ID_PREFIX, MAX_ENTRIES } from "../assumptions.ts";
import type { Clock } from "../clock.ts";
import { type Cursors, createCursors } from "../cursors.ts";
import type { IdGenerator } from "../ids.ts";
import { createFiles, type StoredFile } from "./files.ts";
import type { InputRecord } from "./inputs.ts";
import { Jobs, type OperationRecord } from "./jobs.ts";
import type { ProcessingRequestRecord } from "./processing-requests.ts";
import { createRecipes, type Recipe } from "./recipes.ts";
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

export interface World {
  readonly clock: Clock;
  readonly ids: IdGenerator;
  readonly cursors: Cursors;
  readonly stageMs: number;
  readonly workspaceId: string;
  readonly files: readonly StoredFile[];
  /** In the order of `recipeVersionIds`, with expired recipes at the end. */
  readonly recipes: readonly Recipe[];
  readonly inputs: Collection<InputRecord>;
  readonly jobs: Jobs;
  readonly operations: Collection<OperationRecord>;
  readonly processingRequests: Collection<ProcessingRequestRecord>;
  /** The latest processing request for each `<inputId> <recipeVersionId>`. */
  readonly permissions: BoundedMap<string, ProcessingRequestRecord>;
  readonly usage: Usage;
}

/** Creates a world that has files and recipes, but no inputs, jobs or requests yet. */
export function createWorld(clock: Clock, ids: IdGenerator, stageMs: number): World {
  const startedAt = clock.now();
  const workspaceId = ids.next(ID_PREFIX.workspace);
  return {
    clock,
    ids,
    cursors: createCursors(),
    stageMs,
    workspaceId,
    files: createFiles(ids),
    recipes: createRecipes(ids, workspaceId, startedAt),
    inputs: new Collection(),
    jobs: new Jobs(),
    operations: new Collection(),
    processingRequests: new Collection(),
    permissions: new BoundedMap(MAX_ENTRIES.others),
    usage: new Usage(startedAt),
  };
}
