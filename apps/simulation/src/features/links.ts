/**
 * Numbers that callers connect, by QR code or pairing code: some are scanned, in time or late, some never.
 */
import {
  Connections,
  Numbers,
  SessionVault,
  makeLinkProgress,
  Store,
} from "@messaging-service/core"
import type { NumberId } from "@messaging-service/core"
import { Effect, Result } from "effect"
import type { Switchboard } from "../faults/lines.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

/** How often a caller repeats a request. */
const tries = 8

interface Wanted {
  readonly key: string
  readonly method: "qr" | "phone_code"
  readonly phone: string
}

const connect = ({ key, method, phone }: Wanted) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const command = method === "qr" ? { loginMethod: method } : { loginMethod: method, phone }
    for (let attempt = 0; attempt < tries; attempt++) {
      const call = stage.recordRequest({ _tag: "Connect", key })
      const result = yield* Effect.result(
        stage.callProcess(
          Connections.use((service) =>
            service.connect(stage.tenant.callers.live, command, { key, fingerprint: key }),
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

/**
 * The linked device writes its session, with which processes connect the number. Where the service
 * refuses it, because another number has the phone, no account is left to connect.
 */
const keepSession = Effect.fnUntraced(function* (board: Switchboard, id: NumberId, phone: string) {
  const vault = yield* SessionVault
  if ((yield* vault.credentials(id)) !== null) return
  if (board.toPhone(id) === "") board.add(id, phone)
  const written = yield* vault.exchange(id, null, board.link(id), [], { phone })
  if (written === "phone_of_another_number") board.remove(id)
})

/** A phone scans or types the code, as the emulator's scan reports it; null when the attempt is over. */
const scanned = (board: Switchboard | null, id: NumberId, phone: string) =>
  Effect.gen(function* () {
    const attempt = yield* Store.use(({ numbers: store }) => store.getLinking(id))
    if (attempt === null) return null
    const progress = yield* makeLinkProgress
    if (!(yield* progress.scanned(attempt))) return null
    const linked = yield* progress.linked(attempt, phone)
    if (board !== null && linked?.status === "connected") yield* keepSession(board, id, phone)
    return linked
  })

const scan = ({ key, phone }: Wanted) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const id = stage.links.get(key)
    if (id === undefined) return
    const call = stage.recordRequest({ _tag: "Scan", number: id, phone })
    const digits = phone.replace("+", "")
    const result = yield* Effect.result(
      stage.callProcess(scanned(stage.board, id as NumberId, digits)),
    )
    if (Result.isSuccess(result)) {
      const status = result.success?.status ?? "over"
      stage.answered(call, { _tag: "Scanned", status })
    }
  })

/** Whether a phone took the number's code, as far as callers know. */
const mayBeLinked = ({ history }: Stage, id: NumberId): boolean =>
  history.some((entry) => {
    if (entry._tag !== "Asked" || entry.request._tag !== "Scan" || entry.request.number !== id)
      return false
    const answered = history.find((other) => other._tag === "Answered" && other.call === entry.call)
    if (answered?._tag !== "Answered" || answered.answer._tag !== "Scanned") return true
    return answered.answer.status === "connected"
  })

/** Whether a transport reported the number as unreachable: its service then rightly disconnects it. */
const wasOutOfReach = ({ history }: Stage, id: NumberId): boolean =>
  history.some(
    (entry) =>
      entry._tag === "Said" &&
      entry.number === id &&
      (entry.outcome === "NotConnected" || entry.outcome === "Unknown"),
  )

/**
 * In calm linked numbers that were unreachable reconnect, as initial ones do. A device
 * writes the session now if its process died between the link and the session. A phone is one device: of
 * several disconnected numbers that name it, it connects one.
 */
const connectAll = Effect.fnUntraced(function* (stage: Stage) {
  const { board, tenant, links: created } = stage
  const all = yield* Store.use(({ numbers: store }) => store.list(tenant.workspace))
  const known = new Set(created.values())
  const connected = new Set(
    all.flatMap(({ phone, status }) => (status === "connected" ? [phone] : [])),
  )
  for (const { id, phone, status } of all) {
    if (!known.has(id) || phone === null || !mayBeLinked(stage, id)) continue
    if (status !== "connected" && !(status === "disconnected" && !connected.has(phone))) continue
    connected.add(phone)
    if (board !== null) yield* keepSession(board, id, phone)
    else if (wasOutOfReach(stage, id))
      yield* Numbers.use((service) => service.connectionChanged(id, "connected", null))
  }
})

export const links: Feature = {
  name: "links",
  plan: ({ chance, instant }) => {
    if (chance.below(4) !== 0) return []
    return Array.from({ length: 1 + chance.below(3) }, (_, index): ReadonlyArray<Command> => {
      const requested: Wanted = {
        key: `link ${index}`,
        method: chance.below(2) === 0 ? "qr" : "phone_code",
        // Few phones, so that some are already taken.
        phone: `+1555300200${chance.below(2)}`,
      }
      // The first ones early, so that their time is over within the storm.
      const at = chance.below(2) === 0 ? chance.below(second) : instant()
      const within = chance.below(2) === 0 ? 30 * second : 11 * minute
      const connecting = { at, name: `connect ${requested.key}`, perform: connect(requested) }
      return chance.below(4) === 0
        ? [connecting]
        : [
            connecting,
            {
              at: at + chance.below(within),
              name: `scan ${requested.key}`,
              perform: scan(requested),
            },
          ]
    }).flat()
  },
  calm: (stage) => stage.callProcess(connectAll(stage)),
}
