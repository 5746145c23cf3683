/**
 * Generates the request of an index: a valid one for some operation, with nothing, one or a few things
 * changed. It depends on the seed, the index and the ids of the cell, and on no other request.
 */
import type { Operation, ServiceDocument, ApiPart } from "@messaging-service/testkit/openapi"
import { makeChance } from "../Chance.ts"
import type { Chance } from "../Chance.ts"
import type { Inventory } from "../world/Inventory.ts"
import { mutateHeaders } from "./headers.ts"
import { rawShot } from "./rawHttp.ts"
import type { Credentials, Shot } from "./Shot.ts"
import { mutateMethod, mutatePath, mutateQuery } from "./targets.ts"
import { makeShot } from "./validRequest.ts"

export interface Generating {
  readonly document: ServiceDocument
  readonly inventory: Inventory
  readonly seed: number
  readonly index: number
  readonly profile: Profile
}

export type Profile =
  | "usual"
  /** Most requests get wrong keys. */
  | "intruding"
  /** Only requests of both versions, with few keys: more than those allow. */
  | "hasty"

const partWeights = (profile: Profile): ReadonlyArray<readonly [number, ApiPart]> => {
  const others = profile === "hasty" ? 0 : 1
  return [
    [42, "v2"],
    [24, "v1"],
    [20 * others, "operator"],
    [7 * others, "emulator"],
    [7 * others, "open"],
  ]
}

/** Chosen more often than the others of their part, since most rules are theirs. */
const getWeight = ({ id, method }: Operation): number => {
  // Its answer has no end.
  if (id === "streamNews") return 0
  // Both wait for all work of all cells.
  if (id === "settle" || id === "advanceClock") return 0.15
  if (id === "readPage" || id === "readDocument" || id === "readErrors") return 0.2
  if (id === "sendMessage" || id === "sendBatch" || id === "uploadMedia") return 4
  if (/^v1(SendMsg|ScheduleMsg|MediaUpload)/.test(id)) return 3
  if (method === "DELETE" || id === "logOut") return 0.6
  return method === "GET" ? 1 : 2
}

const credentialsFor = (chance: Chance, { part }: Operation, profile: Profile): Credentials => {
  const isStrange = chance.is(profile === "intruding" ? 0.85 : 0.05)
  const isNone = chance.is(0.3)
  const ofV2 = chance.weighted<Credentials>([
    [34, "live"],
    [34, "other"],
    [15, "test"],
    [8, "limited"],
    [3, "sender"],
    [3, "reader"],
    [1, "revoked"],
    [1, "v1"],
    [1, "operator"],
  ])
  const isForeign = chance.is(0.02)
  if (part === "open") return "none"
  if (isStrange) return isNone ? "none" : "strange"
  if (part === "v2") return profile === "hasty" && ofV2 === "other" ? "live" : ofV2
  if (part === "v1") return isForeign ? "live" : "v1"
  return isForeign ? "live" : "operator"
}

type Change = "body" | "headers" | "path" | "query" | "method" | "raw"

const changes: ReadonlyArray<readonly [number, Change]> = [
  [50, "body"],
  [17, "headers"],
  [12, "path"],
  [12, "query"],
  [3, "method"],
  [6, "raw"],
]

/** Changes independent of the request's body. */
const applyChange = (shot: Shot, change: Change, chance: Chance, host: string): Shot => {
  switch (change) {
    case "headers":
      return mutateHeaders(shot, chance)
    case "path":
      return mutatePath(shot, chance)
    case "query":
      return mutateQuery(shot, chance)
    case "method":
      return mutateMethod(shot, chance)
    case "raw":
      return rawShot(shot, chance, host)
    case "body":
      return shot
  }
}

/** A request must never move time by years for all other cells, whatever chance draws. */
const isHarmless = ({ aim, body }: Shot): boolean => {
  if (aim.id !== "advanceClock" || body === null) return true
  const seconds = /"seconds":([^,}]+)/.exec(body.toString("latin1"))?.[1] ?? ""
  return !(Number(seconds) > 60)
}

/** The request of that index. */
export const generate = ({ document, index, profile, seed, inventory }: Generating): Shot => {
  const chance = makeChance(seed, index)
  const part = chance.weighted(partWeights(profile))
  const operations = document.operations.filter((each) => each.part === part)
  const operation = chance.weighted(operations.map((each) => [getWeight(each), each] as const))
  const credentials = credentialsFor(chance, operation, profile)
  const count = chance.weighted([
    [30, 0],
    [48, 1],
    [16, 2],
    [6, 3],
  ])
  const chosen = Array.from({ length: count }, () => chance.weighted(changes))
  const bodyChanges = chosen.filter((each) => each === "body").length
  let shot = makeShot({ chance, document, inventory, operation, credentials }, bodyChanges)
  // A request that is no longer HTTP is not changed further.
  for (const change of [...chosen].toSorted((a, b) => Number(a === "raw") - Number(b === "raw"))) {
    if (shot.raw === undefined) shot = applyChange(shot, change, chance, inventory.host)
  }
  return isHarmless(shot) ? shot : { ...shot, body: Buffer.from('{"seconds":1}') }
}
