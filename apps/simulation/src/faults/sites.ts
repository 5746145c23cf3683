/** The servers behind media links: each link's path names its server's behaviour. */
import { EgressError } from "@messaging-service/core"
import type { EgressAnswer } from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { Effect, Stream } from "effect"
import type { Coverage } from "../Coverage.ts"
import type { FaultPoints } from "./FaultPoints.ts"

const second = 1000

/** The servers' behaviours. Only the first one always answers with the file. */
export const siteKinds = [
  "good",
  /** It sometimes fails, or cuts its answer short. */
  "flaky",
  /** It never answers: a paused process may have waited arbitrarily long. */
  "slow",
  "missing",
  "empty",
  /** Its name does not resolve. */
  "unresolvable",
] as const

export type SiteKind = (typeof siteKinds)[number]

export const linkTo = (kind: SiteKind, name: string): string =>
  `https://files.example/${kind}/${name}.txt`

/** The content of the file behind a link. */
export const getContent = (url: string): string => `what ${url} leads to`

const bytes = (text: string): Uint8Array => new TextEncoder().encode(text)

/** GETs of a process. */
export const makeFetch = (
  process: Process,
  faults: FaultPoints,
  coverage: Coverage,
  seed: string,
): ((url: string) => Effect.Effect<EgressAnswer, EgressError>) => {
  const latency = new Chance(`${seed}/sites/${process.name}`)
  const answer = (
    url: string,
    status: number,
    body: EgressAnswer["body"],
  ): Effect.Effect<EgressAnswer> => Effect.succeed({ status, headers: {}, url, body })
  const okResponse = (url: string) => answer(url, 200, Stream.make(bytes(getContent(url))))
  const answers: Readonly<
    Record<SiteKind, (url: string) => Effect.Effect<EgressAnswer, EgressError>>
  > = {
    good: okResponse,
    flaky: (url) => {
      const fault = faults.hits(process.name, "site.fails")
      if (fault === null) return okResponse(url)
      switch (fault.below(3)) {
        case 0:
          return answer(url, 503, Stream.empty)
        case 1:
          return Effect.fail(new EgressError({ reason: "connection" }))
        default:
          return answer(
            url,
            200,
            Stream.concat(
              Stream.make(bytes("half of")),
              Stream.fail(new EgressError({ reason: "connection" })),
            ),
          )
      }
    },
    slow: () => Effect.never,
    missing: (url) => answer(url, 404, Stream.make(bytes("Not found"))),
    empty: (url) => answer(url, 200, Stream.empty),
    unresolvable: () => Effect.fail(new EgressError({ reason: "dns" })),
  }
  return (url) =>
    Effect.suspend(() => {
      const kind = (new URL(url).pathname.split("/")[1] ?? "unresolvable") as SiteKind
      coverage.hit(`site ${kind}`)
      return Effect.andThen(Effect.sleep(latency.below(2 * second)), answers[kind](url))
    })
}
