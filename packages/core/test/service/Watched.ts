/** The memory store with every operation wrapped, to count calls or to fail. */
import { layer as layerStore } from "@messaging-service/store-memory/emulator"
import { Context, Effect, Layer } from "effect"
import { Store } from "../../src/index.ts"
import type { StoreUnavailable } from "../../src/index.ts"

/** `operation` names namespace and method, such as `queue.claim`; `given` is what it was called with. */
export type Around = <A, E, R>(
  operation: string,
  effect: Effect.Effect<A, E, R>,
  given: ReadonlyArray<unknown>,
) => Effect.Effect<A, E | StoreUnavailable, R>

export const storeWithin = (around: Around): typeof layerStore =>
  Layer.effectContext(
    Effect.map(Layer.build(layerStore), (context) => {
      const ports = [...context.mapUnsafe].map(([name, port]): [string, unknown] => [
        name,
        name === Store.key
          ? Object.fromEntries(
              Object.entries(port as object).map(([namespace, methods]: [string, object]) => [
                namespace,
                watched(namespace, methods, around),
              ]),
            )
          : watched(name.replace(/^(core|emulator)\//, ""), port as object, around),
      ])
      return Context.makeUnsafe<Layer.Success<typeof layerStore>>(new Map(ports))
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
        (...given: ReadonlyArray<unknown>) => {
          const result: unknown = Reflect.apply(member, port, given)
          return Effect.isEffect(result) ? around(operation, result, given) : result
        },
      ]
    }),
  )
