/**
 * The store as one process of the service sees it: every operation passes one place, where it
 * fails, is delayed, or goes to something else.
 */
import { MediaFilesError, Store, StoreUnavailable } from "@messaging-service/core"
import { Context, Effect } from "effect"

/** Wraps an operation, such as `queue.claim`; `input` is the method's. */
export type Around = (
  operation: string,
  effect: Effect.Effect<unknown, unknown>,
  input: ReadonlyArray<unknown>,
) => Effect.Effect<unknown, unknown>

/** These are not calls of the store. */
const plainMethods = new Set(["whenQueued", "joinTransaction"])

type Methods = Readonly<Record<string, unknown>>
type Method = (...input: ReadonlyArray<unknown>) => unknown

const aroundMethods = (name: string, methods: Methods, around: Around): Methods => {
  const wrapped: Record<string, unknown> = {}
  for (const [method, member] of Object.entries(methods)) {
    const operation = `${name}.${method}`
    if (plainMethods.has(method)) wrapped[method] = member
    else if (Effect.isEffect(member)) {
      wrapped[method] = around(operation, member as Effect.Effect<unknown, unknown>, [])
    } else if (typeof member === "function") {
      const call = member as Method
      wrapped[method] = (...input: ReadonlyArray<unknown>) => {
        const result = Reflect.apply(call, methods, input)
        return Effect.isEffect(result)
          ? around(operation, result as Effect.Effect<unknown, unknown>, input)
          : result
      }
    } else wrapped[method] = member
  }
  return wrapped
}

const aroundNamespaces = (namespaces: object, around: Around): object =>
  Object.fromEntries(
    Object.entries(namespaces).map(([name, methods]: [string, Methods]) => [
      name,
      aroundMethods(name, methods, around),
    ]),
  )

/** The same services, with each operation wrapped. */
export const aroundStore = <Services>(
  store: Context.Context<Services>,
  around: Around,
): Context.Context<Services> => {
  const services = new Map<string, unknown>()
  for (const [key, service] of store.mapUnsafe) {
    const name = key.slice(key.indexOf("/") + 1)
    services.set(
      key,
      key === Store.key
        ? aroundNamespaces(service as object, around)
        : aroundMethods(name, service as Methods, around),
    )
  }
  return Context.makeUnsafe<Services>(services)
}

export const unavailable = (operation: string): StoreUnavailable | MediaFilesError =>
  operation.startsWith("MediaFiles.")
    ? new MediaFilesError({ reason: "io", cause: "simulated" })
    : new StoreUnavailable({ operation, cause: "simulated" })
