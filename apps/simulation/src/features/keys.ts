/** Keys that are used more often than allowed, and after they were revoked. */
import { Admission } from "@messaging-service/core"
import { Effect } from "effect"
import { askUntilAnswered } from "./asking.ts"
import { makeKey, revokeKey } from "./webhooks.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

const second = 1000
const minute = 60 * second

const use = (key: string) =>
  Effect.fnUntraced(function* (stage: Stage) {
    const token = stage.keys.get(key)?.token
    if (token === undefined) return
    yield* askUntilAnswered(stage, {
      ask: { _tag: "UseKey", key },
      effect: Admission.use((admission) => admission.admitV2(`Bearer ${token}`, "192.0.2.1")),
      answer: ({ rate }) => ({ _tag: "Admitted", remaining: rate.remaining }),
      tries: 1,
    })
  })

export const keys: Feature = {
  name: "keys",
  plan: ({ chance, span }) => {
    const commands: Array<Command> = []
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
