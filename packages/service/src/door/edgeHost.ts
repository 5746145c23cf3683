/**
 * Workers of edge hosts: there a program runs for a request, with no process that stays and no disk. What
 * needs either is refused before anything is made.
 */
import { Effect } from "effect"
import type { OpenOptions } from "../api/options.ts"
import { CannotStart } from "../compose/index.ts"
import { WrongOptions } from "./rules.ts"
import type { Wrong } from "./rules.ts"

/** How workerd, the runtime of such hosts, names itself. */
const runtimeName = "Cloudflare-Workers"

/** Whether this program is such a worker. */
export const isEdgeWorker = (): boolean => globalThis.navigator?.userAgent === runtimeName

const noDisk = "needs a disk, which a worker of an edge host does not have"
const noProcess = "needs a process that stays, which a worker of an edge host is not"

const problemsOf = ({
  dataDirectory,
  secretsKey,
  store = "memory",
  transport = "simulated",
  worker,
}: OpenOptions): ReadonlyArray<Wrong> => [
  ...(store !== "memory" && "embedded" in store
    ? [{ field: "store.embedded", rule: `${noDisk}: use store.pool or store.postgres` }]
    : []),
  ...(transport === "simulated"
    ? []
    : [{ field: "transport", rule: `"live" ${noProcess}: connect numbers in one that does` }]),
  ...(dataDirectory === undefined
    ? []
    : [{ field: "dataDirectory", rule: `${noDisk}: leave it out` }]),
  ...(worker === true
    ? [{ field: "worker", rule: `true ${noProcess}: leave it out, and call drain` }]
    : []),
  ...(store !== "memory" && secretsKey === undefined
    ? [
        {
          field: "secretsKey",
          rule: "must be given in a worker of an edge host: no disk keeps one",
        },
      ]
    : []),
]

/**
 * Fails where a module of such a worker is loaded: only a request that is handled may wait, and be given
 * random numbers.
 */
export const inHandler: Effect.Effect<void, CannotStart> = Effect.try({
  try: () => {
    crypto.getRandomValues(new Uint8Array(1))
  },
  catch: () =>
    new CannotStart({
      message: "open can only be called while a worker of an edge host handles a request",
    }),
})

/** What of the options cannot be had in such a worker; undefined when all of it can. */
export const wrongOnEdge = (options: OpenOptions): WrongOptions | undefined => {
  const [first, ...others] = problemsOf(options)
  return first === undefined ? undefined : new WrongOptions({ first, others })
}
