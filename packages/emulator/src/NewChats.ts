/**
 * What the simulated WhatsApp lets numbers do with people who never wrote to them (contract: Emulator controls).
 * Only this process knows which numbers may not start new chats.
 */
import {
  boundMillis,
  described,
  inputDecoder,
  InstantInput,
  integerBetween,
  makeRestrictionsChanged,
  refuse,
  Store,
} from "@messaging-service/core"
import type {
  NumberId,
  NumberRestrictions,
  Restrictions,
  SendingNumber,
  Target,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Schema } from "effect"

const mostChats = 1_000_000_000

export const RestrictBody = Schema.Struct({
  newChatsClosedUntil: described(
    Schema.optionalKey(Schema.NullOr(InstantInput)),
    "Until then people who never wrote to the number cannot be written to. Null, or left out: they can.",
  ),
  limit: described(
    Schema.optionalKey(Schema.NullOr(integerBetween(0, mostChats))),
    "The cap of new chats. Null, or left out: none.",
  ),
  used: described(Schema.optionalKey(integerBetween(0, mostChats)), "New chats of the period.", {
    default: 0,
  }),
  resetsAt: described(Schema.optionalKey(Schema.NullOr(InstantInput)), "When `used` starts again."),
}).annotate({ identifier: "Restrict" })

const decodeRestrict = inputDecoder(RestrictBody, { codes: ["invalid_datetime"] })

const toRestrictions = (input: typeof RestrictBody.Type, now: number): Restrictions => {
  const { limit = null, used = 0 } = input
  const until = boundMillis(input.newChatsClosedUntil ?? undefined)
  const isClosed = until !== null && until > now
  return {
    state: isClosed ? "new_chats_closed" : "none",
    until: isClosed ? until : null,
    reason: isClosed ? "DEFAULT" : null,
    newChats: {
      limit,
      used,
      resetsAt: boundMillis(input.resetsAt ?? undefined),
      warning: limit !== null && used >= limit ? "capped" : "none",
    },
    checkedAt: now,
  }
}

/** Numbers that may not start new chats, and until when. */
export class NewChats extends Context.Service<NewChats, Map<NumberId, number>>()(
  "emulator/NewChats",
) {
  static readonly layer = Layer.sync(NewChats, () => new Map())
}

const isGroup = ({ kind }: Target): boolean => kind === "group" || kind === "group_id"

/** Makes what tells whether the number may not write to someone, known to the remote by that name. */
export const makeTooNew = Effect.gen(function* makeTooNew() {
  const { chats, numbers, phones } = yield* Store
  const closedUntil = yield* NewChats

  const hasWritten = Effect.fnUntraced(function* hasWritten(
    { id: numberId, mode, workspaceId }: SendingNumber,
    to: Target,
  ) {
    const phone = to.kind === "phone" ? to.phone : null
    const scope = { workspaceId, mode, restriction: null }
    const filter = { numberId, phone, unread: null }
    const { items } = yield* chats.listChats(scope, filter, { before: null, limit: 1000 })
    return items.some(
      ({ lastReceivedAt, lid, userId, username }) =>
        lastReceivedAt !== null &&
        (to.kind === "phone" ||
          (to.kind === "lid" && lid === to.lid) ||
          (to.kind === "user_id" && userId === String(to.userId)) ||
          (to.kind === "username" && username === to.username)),
    )
  })

  return Effect.fnUntraced(function* isTooNew(numberId: NumberId, to: Target, name: string) {
    const until = closedUntil.get(numberId)
    if (until === undefined || isGroup(to)) return false
    if (until <= (yield* Clock.currentTimeMillis)) return false
    const filter = { numberId, workspaceId: null, to: name }
    const { items } = yield* phones.sent(filter, { before: null, limit: 1 })
    if (items.length > 0) return false
    const number = yield* numbers.find(numberId)
    return number !== null && !(yield* hasWritten(number, to))
  })
})

/** Makes the control that closes new chats and caps them. */
export const makeRestrict = Effect.gen(function* makeRestrict() {
  const closedUntil = yield* NewChats
  const restrictionsChanged = yield* makeRestrictionsChanged
  const scope = yield* Effect.scope

  /** WhatsApp is asked at the end, and says that they are open. */
  const open = Effect.fnUntraced(function* open(
    numberId: NumberId,
    restrictions: Restrictions,
    until: number,
  ) {
    yield* Effect.sleep(Math.max(0, until - (yield* Clock.currentTimeMillis)))
    if (closedUntil.get(numberId) !== until) return
    closedUntil.delete(numberId)
    const opened = { state: "none", until: null, reason: null } as const
    const checkedAt = yield* Clock.currentTimeMillis
    yield* restrictionsChanged(numberId, { ...restrictions, ...opened, checkedAt })
  })

  return Effect.fn("Emulator.restrict")(function* restrict(number: SendingNumber, body: unknown) {
    const input = yield* Effect.fromResult(decodeRestrict(body))
    if (number.platform !== "whatsapp") {
      return yield* refuse("validation_failed", {
        message: "Only WhatsApp restricts new chats.",
      })
    }
    const restrictions = toRestrictions(input, yield* Clock.currentTimeMillis)
    if (!(yield* restrictionsChanged(number.id, restrictions))) {
      return yield* refuse("conversations_not_enabled")
    }
    const { until } = restrictions
    closedUntil.delete(number.id)
    if (until !== null) {
      closedUntil.set(number.id, until)
      yield* Effect.forkIn(Effect.ignoreCause(open(number.id, restrictions, until)), scope)
    }
    const known: NumberRestrictions = { numberId: number.id, ...restrictions }
    return known
  })
})
