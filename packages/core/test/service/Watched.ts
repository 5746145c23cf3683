/** The memory store with every operation wrapped, to count calls or to fail. */
import { layer as layerStore } from "@messaging-service/store-memory"
import { Context, Effect, Layer } from "effect"
import { Store } from "../../src/index.ts"
import type { StoreUnavailable } from "../../src/index.ts"

/** `operation` names namespace and method, such as `queue.claim`; `args` is what it was called with. */
export type Around = <A, E, R>(
  operation: string,
  effect: Effect.Effect<A, E, R>,
  args: ReadonlyArray<unknown>,
) => Effect.Effect<A, E | StoreUnavailable, R>

export const storeWithin = (around: Around): typeof layerStore =>
  Layer.effectContext(
    Effect.map(Layer.build(layerStore), (context) => {
      const namespaces = Object.entries(Context.get(context, Store)).map(
        ([namespace, methods]: [string, object]) => [
          namespace,
          watched(namespace, methods, around),
        ],
      )
      return Context.make(Store, Object.fromEntries(namespaces) as typeof Store.Service)
    }),
  )

const watched = (name: string, port: object, around: Around): object =>
  Object.fromEntries(
    Object.entries(port).map(([method, member]: [string, unknown]) => {
      const operation = `${name}.${method}`
      if (Effect.isEffect(member)) return [method, around(operation, member, [])]
      if (typeof member !== "function") return [method, member]
      return [
        method,
        (...args: ReadonlyArray<unknown>) => {
          const result: unknown = Reflect.apply(member, port, args)
          return Effect.isEffect(result) ? around(operation, result, args) : result
        },
      ]
    }),
  )
