/** A look at what a start would use, which changes nothing (`messaging-server doctor`). */
import { isMarkOfSecretsKeys, parseSecretsKey } from "@messaging-service/core"
import type { ClockReading } from "@messaging-service/core"
import type { CannotStart } from "@messaging-service/node"
import { Effect, Redacted } from "effect"
import { access, readFile } from "node:fs/promises"
import { join } from "node:path"
import { lockDirectory } from "./DataDirectory.ts"
import type { ServiceSettings } from "./Settings.ts"
import { storeCannotStart } from "./startFaults.ts"

export type StoreExamination =
  | { readonly kind: "memory" }
  | {
      readonly kind: "embedded"
      /** `in_use`: another process has it, as a running service does. */
      readonly state: "none_yet" | "in_use" | "free"
    }
  | {
      readonly kind: "postgres"
      readonly version: string
      readonly hasTables: boolean
      readonly clock: ClockReading
      /** Whether a start has the key of this database; null where it has none yet. */
      readonly hasSecretsKey: boolean | null
    }

const examineEmbedded = (directory: string): Effect.Effect<StoreExamination> =>
  Effect.gen(function* () {
    const isThere = yield* Effect.promise(() =>
      access(join(directory, "db")).then(
        () => true,
        () => false,
      ),
    )
    if (!isThere) return { kind: "embedded", state: "none_yet" }
    const isFree = yield* Effect.isSuccess(Effect.scoped(lockDirectory(directory)))
    return { kind: "embedded", state: isFree ? "free" : "in_use" }
  })

/** The keys of a start, without a new one. */
const presentSecretsKeys = ({
  dataDirectory,
  secretsKeys,
}: Pick<ServiceSettings, "dataDirectory" | "secretsKeys">) =>
  Effect.promise(async () => {
    if (secretsKeys !== null) return [secretsKeys.present, ...secretsKeys.older]
    const text = await readFile(join(dataDirectory, "secrets-key"), "utf8").catch(() => "")
    const key = parseSecretsKey(text.trim())
    return key === undefined ? [] : [key]
  })

/** Fails in the words of a start that cannot use the store. */
export const examineStore = (
  settings: Pick<ServiceSettings, "dataDirectory" | "secretsKeys" | "store">,
): Effect.Effect<StoreExamination, CannotStart> =>
  Effect.gen(function* () {
    const { dataDirectory, store } = settings
    if (store.kind === "memory") return { kind: "memory" }
    if (store.kind !== "postgres") return yield* examineEmbedded(dataDirectory)
    const { examineDatabase } = yield* Effect.promise(
      () => import("@messaging-service/store-postgres"),
    )
    const { secretsKeyMark, ...found } = yield* examineDatabase({
      url: Redacted.value(store.url),
      ...(store.schema === null ? {} : { schema: store.schema }),
    }).pipe(Effect.mapError((error) => storeCannotStart(settings, error)))
    const keys = yield* presentSecretsKeys(settings)
    const hasSecretsKey = secretsKeyMark === null ? null : isMarkOfSecretsKeys(secretsKeyMark, keys)
    return { kind: "postgres", ...found, hasSecretsKey }
  })
