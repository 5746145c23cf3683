/** Stores for tests: with only some methods, or with some methods changed. */
import { Store } from "@messaging-service/core"
import { Effect, Layer } from "effect"

type Service = typeof Store.Service

/** Some methods of some namespaces. */
export type StoreParts = { readonly [Namespace in keyof Service]?: Partial<Service[Namespace]> }

const namespaces = [
  "messages",
  "queue",
  "numbers",
  "sessions",
  "workspaces",
  "webhooks",
  "media",
  "numberChecks",
  "reminders",
  "campaigns",
  "chats",
  "browserSessions",
  "news",
  "figures",
  "version1Lists",
  "phones",
  "system",
] as const satisfies ReadonlyArray<keyof Service>

/** A method that a test did not expect: as a function and as an effect it is a defect with its name. */
const unexpected = (operation: string) => {
  const dead = Effect.die(new Error(`the store of this test has no ${operation}`))
  return Object.setPrototypeOf(
    Object.assign(() => dead, dead),
    Object.getPrototypeOf(dead),
  )
}

const onlyWith = (namespace: string, input: object): object =>
  new Proxy(input, {
    get: (target, method) =>
      Reflect.get(target, method) ?? unexpected(`${namespace}.${String(method)}`),
  })

/** A store with these methods alone. */
export const storeWith = (parts: StoreParts): Layer.Layer<Store> =>
  Layer.succeed(
    Store,
    Object.fromEntries(
      namespaces.map((namespace) => [namespace, onlyWith(namespace, parts[namespace] ?? {})]),
    ) as unknown as Service,
  )

/** The store below with some methods changed. */
export const storeChanged = (
  change: (store: Service) => StoreParts,
): Layer.Layer<Store, never, Store> =>
  Layer.effect(
    Store,
    Effect.map(Store, (store) => {
      const parts = change(store)
      return Object.fromEntries(
        namespaces.map((namespace) => [namespace, { ...store[namespace], ...parts[namespace] }]),
      ) as unknown as Service
    }),
  )
