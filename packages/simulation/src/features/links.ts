/** Numbers that callers connect, by QR code or pairing code: some are scanned, in time or late, some never. */
import { Connections, makeLinkProgress } from "@messaging-service/core"
import { LinkingStore } from "@messaging-service/core/ports"
import type { NumberId } from "@messaging-service/core/ports"
import { Effect, Result } from "effect"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

/** How often a caller asks for the same. */
const tries = 8

interface Wanted {
  readonly key: string
  readonly method: "qr" | "phone_code"
  readonly phone: string
}

const connect = ({ key, method, phone }: Wanted) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const command = method === "qr" ? { login_method: method } : { login_method: method, phone }
    for (let attempt = 0; attempt < tries; attempt++) {
      const call = stage.asked({ _tag: "Connect", key })
      const result = yield* Effect.result(
        stage.ask(
          Connections.use((service) =>
            service.connect(stage.given.callers.live, command, { key, fingerprint: key }),
          ),
        ),
      )
      if (Result.isSuccess(result)) {
        const id = Number(result.success.answer.id)
        stage.links.set(key, id)
        return stage.answered(call, { _tag: "Accepted", ids: [id] })
      }
      yield* Effect.sleep(stage.chance.below(3 * second))
    }
  })

/** A phone takes the code, as the emulator's scan reports it; null when the attempt is over. */
const scanned = (id: NumberId, phone: string) =>
  Effect.gen(function* () {
    const attempt = yield* LinkingStore.use((store) => store.get(id))
    if (attempt === null) return null
    const progress = yield* makeLinkProgress
    if (!(yield* progress.taken(attempt))) return null
    return yield* progress.linked(attempt, phone)
  })

const scan = ({ key, phone }: Wanted) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const id = stage.links.get(key)
    if (id === undefined) return
    const call = stage.asked({ _tag: "Scan", number: id, phone })
    const result = yield* Effect.result(stage.ask(scanned(id as NumberId, phone.replace("+", ""))))
    if (Result.isSuccess(result)) {
      const status = result.success?.status ?? "over"
      stage.answered(call, { _tag: "Scanned", status })
    }
  })

export const links: Feature = {
  name: "links",
  plan: ({ chance, moment }) => {
    if (chance.below(4) !== 0) return []
    return Array.from({ length: 1 + chance.below(3) }, (_, index): ReadonlyArray<Command> => {
      const wanted: Wanted = {
        key: `link ${index}`,
        method: chance.below(2) === 0 ? "qr" : "phone_code",
        // Few phones, so that some are had already.
        phone: `+1555300200${chance.below(2)}`,
      }
      // The first ones early, so that their time is over within the storm.
      const at = chance.below(2) === 0 ? chance.below(second) : moment()
      const within = chance.below(2) === 0 ? 30 * second : 11 * minute
      const connecting = { at, name: `connect ${wanted.key}`, perform: connect(wanted) }
      return chance.below(4) === 0
        ? [connecting]
        : [
            connecting,
            {
              at: at + chance.below(within),
              name: `scan ${wanted.key}`,
              perform: scan(wanted),
            },
          ]
    }).flat()
  },
}
