/** Sends of version 1: each reports its end to its own URL. */
import { CallbackSecrets } from "@messaging-service/core"
import { Effect } from "effect"
import { retryUntilAnswered } from "./asking.ts"
import { planSend } from "./messages.ts"
import type { Command, Feature, Stage } from "./Feature.ts"

const rotate = Effect.fnUntraced(function* (stage: Stage) {
  const { workspace } = stage.tenant
  const answer = yield* retryUntilAnswered(stage, {
    request: { _tag: "RotateCallbackSecret" },
    effect: CallbackSecrets.use((secrets) => secrets.rotate("owner", workspace)),
    answer: ({ secret }) => ({ _tag: "Secret", secret }),
  })
  if (answer !== null) return
  yield* retryUntilAnswered(stage, {
    request: { _tag: "ReadCallbackSecret" },
    effect: CallbackSecrets.use((secrets) => secrets.get("owner", workspace)),
    answer: ({ secret }) => ({ _tag: "Secret", secret }),
  })
})

export const callbacks: Feature = {
  name: "callbacks",
  plan: (planning) => {
    const { chance, instant } = planning
    const commands: Array<Command> = []
    if (chance.below(3) !== 0) return commands
    for (let index = 4 + chance.below(6); index > 0; index--) {
      // Two hosts: calls to one do not delay the other.
      const callback = `http://callbacks${index % 2}.example/c${index}`
      commands.push(...planSend(planning, `c${index}`, callback))
    }
    for (let count = chance.below(3); count > 0; count--) {
      commands.push({ at: instant(), name: "rotate the callbacks' secret", perform: rotate })
    }
    return commands
  },
}
