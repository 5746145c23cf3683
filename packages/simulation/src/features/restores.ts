/** Stores of which an operator says that they went back in time, and what is decided of what is held then. */
import { Restoration } from "@messaging-service/core"
import { Effect } from "effect"
import type { Control } from "../History.ts"
import type { Feature, Given, Stage } from "./Feature.ts"
import { sendProbe } from "./messages.ts"
import { control } from "./operations.ts"

const second = 1000
const minute = 60 * second

const decision = (value: Control["value"], isProbe: boolean): Control => ({
  _tag: "Control",
  key: "restored",
  numbers: [],
  value,
  isProbe,
})

const restored = (stage: Stage, isProbe = false) =>
  control(
    stage,
    decision({ _tag: "Held" }, isProbe),
    Restoration.use((service) => service.restored("owner", { again: isProbe })),
    "already_restored",
  )

/** Lets everything go that is held of these workspaces, or cancels its messages. */
const decide = (
  stage: Stage,
  what: "release" | "cancel",
  places: ReadonlyArray<Given>,
  isProbe = false,
) =>
  control(
    stage,
    decision({ _tag: "Open" }, isProbe),
    Restoration.use((service) =>
      Effect.forEach(places, ({ workspace }) =>
        Effect.catchTag(
          service[what]("owner", workspace, { filter: {} }),
          "Refusal",
          () => Effect.void,
        ),
      ),
    ),
  )

/** Index of the number of the probes. */
const probedNumber = 4

export const restores: Feature = {
  name: "restores",
  plan: ({ chance, moment }) => {
    if (chance.below(5) !== 0) return []
    const at = moment()
    const back = at + chance.below(chance.below(2) === 0 ? 20 * second : 3 * minute)
    const what = chance.below(3) === 0 ? "cancel" : "release"
    return [
      { at, name: "restored", perform: (stage) => restored(stage) },
      {
        at: back,
        name: `${what} what is held`,
        perform: (stage) => decide(stage, what, [stage.given, stage.doomed]),
      },
    ]
  },
  calm: (stage) => decide(stage, "release", [stage.given, stage.doomed]),
  probe: Effect.fnUntraced(function* (stage) {
    const at = stage.now() + second + stage.chance.below(second)
    yield* sendProbe(stage, { number: probedNumber, text: "held a", sendAt: at })
    yield* restored(stage, true)
    yield* sendProbe(stage, { number: probedNumber, text: "passing" })
    yield* Effect.sleep(3 * second)
    yield* decide(stage, "release", [stage.given, stage.audited], true)
    yield* Effect.sleep(3 * second)
  }),
}
