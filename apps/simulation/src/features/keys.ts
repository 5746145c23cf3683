/** Keys that are used more often than allowed, and after they were revoked. */
import { Admission } from "@messaging-service/core"
import { Effect } from "effect"
import { toName } from "../History.ts"
import { retryUntilAnswered, makeKey, revokeKey } from "./asking.ts"
import { checkMessage, toPhone, send } from "./messages.ts"
import type { Send } from "./messages.ts"
import type { Command, Feature, Planning, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

const use = (key: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const token = stage.keys.get(key)?.token
    if (token === undefined) return
    yield* retryUntilAnswered(stage, {
      request: { _tag: "UseKey", key },
      effect: Admission.use((admission) => admission.admitV2(`Bearer ${token}`, "192.0.2.1")),
      answer: ({ rate }) => ({ _tag: "Admitted", remaining: rate.remaining }),
      tries: 1,
    })
  })

/** A key of one number sends from all of them and reads what others sent, until it is revoked. */
const planLimited = ({
  chance,
  instant,
  numbers,
  span,
  start,
}: Planning): ReadonlyArray<Command> => {
  const limits = { key: "limited", onlyNumber: chance.below(numbers) }
  const at = Math.floor(instant() / 4)
  /** While the key is there. */
  const after = () => at + second + chance.below(span - at - second)
  const commands: Array<Command> = [
    { at, name: "make key limited", perform: makeKey(limits.key, "live", limits.onlyNumber) },
  ]
  for (let index = 0; index < 4; index++) {
    const when = after()
    const requested: Send = {
      _tag: "Send",
      text: `l${index}`,
      phones: [toPhone(index)],
      number: chance.below(numbers),
      sendAt: chance.below(2) === 0 ? start + when + 1 + chance.below(minute) : null,
      expiresAt: null,
      idempotencyKey: `k l${index}`,
      mode: "live",
      isProbe: false,
      ...limits,
      ...(chance.below(4) === 0 ? { leavesOutNumber: true } : {}),
    }
    commands.push(
      { at: when, name: `send ${requested.text}`, perform: send(requested, chance.below(3) === 0) },
      {
        at: after(),
        name: `read by key limited`,
        perform: checkMessage("Read", toName(`m${chance.below(20)}`, toPhone(0)), limits),
      },
    )
  }
  if (chance.below(2) === 0) {
    commands.push({ at: after(), name: "revoke key limited", perform: revokeKey(limits.key) })
  }
  return commands
}

export const keys: Feature = {
  name: "keys",
  plan: (planning) => {
    const { chance, span } = planning
    const commands: Array<Command> = chance.below(3) === 0 ? [...planLimited(planning)] : []
    if (chance.below(4) !== 0) return commands
    const key = "much used"
    const at = chance.below(5) * minute
    commands.push({ at, name: `make key ${key}`, perform: makeKey(key, "live") })
    for (let window = 1; window <= 2; window++) {
      // Around the turn of a minute, where windows meet.
      const from = at + window * minute - 10 * second
      for (let count = 80 + chance.below(20); count > 0; count--) {
        const when = from + chance.below(chance.below(2) === 0 ? 20 * second : minute)
        commands.push({ at: when, name: `use key ${key}`, perform: use(key) })
      }
    }
    if (chance.below(2) === 0) {
      const when = Math.min(span, at + minute + chance.below(2 * minute))
      commands.push({ at: when, name: `revoke key ${key}`, perform: revokeKey(key) })
    }
    return commands
  },
}
