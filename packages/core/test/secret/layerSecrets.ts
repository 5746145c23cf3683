/** Secrets over a store of their own, for tests of signing. */
import { Effect, Layer } from "effect"
import { Ids } from "../../src/model/Ids.ts"
import { OlderSecretsKeys, parseSecretsKey, SecretsKey } from "../../src/model/Secrets.ts"
import { layerStoredSecrets } from "../../src/service/layerStoredSecrets.ts"
import { storeWith } from "@messaging-service/testkit"

/** The stored value of a name. */
export type Stored = Map<string, string>

const layerStored = (stored: Stored) =>
  storeWith({
    system: {
      getOrCreateSecret: (name, candidate) =>
        Effect.sync(() => {
          const value = stored.get(name) ?? candidate
          stored.set(name, value)
          return value
        }),
      getSecret: (name) => Effect.sync(() => stored.get(name) ?? null),
      replaceSecret: (name, before, value) =>
        Effect.sync(() => {
          if (stored.get(name) === before) stored.set(name, value)
        }),
    },
  })

export const aSecretsKey = (byte: string) => byte.repeat(32)

export const layerSecrets = (
  stored: Stored = new Map(),
  key: string = aSecretsKey("5e"),
  older: ReadonlyArray<string> = [],
) =>
  layerStoredSecrets.pipe(
    Layer.provide([
      layerStored(stored),
      SecretsKey.layerHex(key),
      Ids.layerRandom,
      Layer.succeed(
        OlderSecretsKeys,
        older.flatMap((text) => parseSecretsKey(text) ?? []),
      ),
    ]),
  )
