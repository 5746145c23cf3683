/**
 * The store as one process of the service sees it: every operation of every port passes one place,
 * where it fails, is delayed, or goes to something else.
 */
import { MediaFilesError, StoreUnavailable } from "@messaging-service/core"
import { Context, Effect } from "effect"

/** Wraps an operation; its name is that of the port and the method, its input the method's. */
export type Around = (
  operation: string,
  effect: Effect.Effect<unknown, unknown>,
  input: ReadonlyArray<unknown>,
) => Effect.Effect<unknown, unknown>

/** Signals of queued work are not calls of the store. */
const plainMethods = new Set(["whenQueued"])
const plainPorts = new Set(["CallersTransactions"])

type Port = Readonly<Record<string, unknown>>
type Method = (...input: ReadonlyArray<unknown>) => unknown

const aroundPort = (name: string, port: Port, around: Around): Port => {
  const wrapped: Record<string, unknown> = {}
  for (const [method, member] of Object.entries(port)) {
    const operation = `${name}.${method}`
    if (plainMethods.has(method)) wrapped[method] = member
    else if (Effect.isEffect(member)) {
      wrapped[method] = around(operation, member as Effect.Effect<unknown, unknown>, [])
    } else if (typeof member === "function") {
      const call = member as Method
      wrapped[method] = (...input: ReadonlyArray<unknown>) => {
        const result = Reflect.apply(call, port, input)
        return Effect.isEffect(result)
          ? around(operation, result as Effect.Effect<unknown, unknown>, input)
          : result
      }
    } else wrapped[method] = member
  }
  return wrapped
}

/** The same ports, with each operation wrapped. */
export const aroundStore = <Ports>(
  store: Context.Context<Ports>,
  around: Around,
): Context.Context<Ports> => {
  const ports = new Map<string, unknown>()
  for (const [key, port] of store.mapUnsafe) {
    const name = key.slice(key.indexOf("/") + 1)
    ports.set(key, plainPorts.has(name) ? port : aroundPort(name, port as Port, around))
  }
  return Context.makeUnsafe<Ports>(ports)
}

export const unavailable = (operation: string): StoreUnavailable | MediaFilesError =>
  operation.startsWith("MediaFiles.")
    ? new MediaFilesError({ reason: "io", cause: "simulated" })
    : new StoreUnavailable({ operation, cause: "simulated" })
