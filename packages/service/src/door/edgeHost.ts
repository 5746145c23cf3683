/**
 * Workers of edge hosts: there a program runs for a request, with no process that stays and no disk. What
 * needs either is refused before anything is made.
 */
import { Effect } from "effect"
import type { OpenOptions } from "../api/options.ts"
import { CannotStart } from "@messaging-service/node"
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
}: OpenOptions): ReadonlyArray<Wrong> => {
  const isEmbedded = store !== "memory" && "embedded" in store && store.embedded !== undefined
  const needsKey = store !== "memory" && !isEmbedded && secretsKey === undefined
  const problems: ReadonlyArray<Wrong & { readonly holds: boolean }> = [
    {
      holds: isEmbedded,
      field: "store.embedded",
      rule: `${noDisk}: use store.pool or store.postgres`,
    },
    {
      holds: transport !== "simulated",
      field: "transport",
      rule: `"live" ${noProcess}: connect numbers in one that does`,
    },
    {
      holds: dataDirectory !== undefined,
      field: "dataDirectory",
      rule: `${noDisk}: leave it out`,
    },
    {
      holds: worker === true,
      field: "worker",
      rule: `true ${noProcess}: leave it out, and call drain`,
    },
    {
      holds: needsKey,
      field: "secretsKey",
      rule: "must be given in a worker of an edge host: no disk keeps one",
    },
  ]
  return problems.filter(({ holds }) => holds).map(({ field, rule }) => ({ field, rule }))
}

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
