/**
 * WhatsApp's directory of phones, with the faults of the wire: phones with an even last digit are registered.
 */
import { PhoneDirectory } from "@messaging-service/core"
import type { PhonesOutcome } from "@messaging-service/core"
import { Chance } from "@messaging-service/emulator"
import type { Process } from "@messaging-service/emulator"
import { Effect, Layer } from "effect"
import type { Coverage } from "../Coverage.ts"
import type { Recorder } from "../History.ts"
import type { FaultPoints } from "./FaultPoints.ts"
import type { Switchboard } from "./lines.ts"

const second = 1000

/** The time that a running process needs for a look-up. */
export const longestLookUpMillis = 200

const isRegistered = (phone: string): boolean => Number(phone.slice(-1)) % 2 === 0

export const layerDirectory = (
  process: Process,
  faults: FaultPoints,
  record: Recorder,
  coverage: Coverage,
  seed: string,
  board: Switchboard | null,
): Layer.Layer<PhoneDirectory> => {
  const latency = new Chance(`${seed}/directory/${process.name}`)
  // Separate streams: look-ups change no draw of sends.
  const name = `${process.name}/directory`
  return Layer.succeed(PhoneDirectory, {
    checkPhones: (numberId, phones) => {
      const lookUp = record.nextLookUp()
      // Noted at the call: the service counts the try of a process that stops before it begins.
      record.add(
        {
          _tag: "LooksUp",
          lookUp,
          number: Number(numberId),
          phones,
          process: process.name,
        },
        `${process.name} looks up ${phones.length} phones: #${lookUp}`,
      )
      const answer = Effect.sync((): PhonesOutcome => {
        // Where processes keep connections they know whether there is one.
        const isDown =
          board === null
            ? faults.hits(name, "wire.down") !== null
            : !board.isConnected(numberId, process)
        if (isDown) return { _tag: "NotConnected" }
        const flood = faults.hits(name, "wire.flood")
        if (flood !== null) return { _tag: "Postponed", afterMillis: flood.below(20 * second) }
        const isLost = faults.hits(name, "wire.lost") !== null
        const isUnanswered = faults.hits(name, "look.unanswered") !== null
        if (isLost || isUnanswered) return { _tag: "Unknown" }
        return { _tag: "Checked", registered: new Set(phones.filter(isRegistered)) }
      })
      const note = ({ _tag: outcome }: PhonesOutcome) => {
        coverage.hit(`look-up ${outcome}`)
        record.add({ _tag: "LookedUp", lookUp, outcome }, `look-up #${lookUp}: ${outcome}`)
      }
      return Effect.sleep(latency.below(longestLookUpMillis)).pipe(
        Effect.andThen(answer),
        Effect.tap((outcome) => Effect.sync(() => note(outcome))),
      )
    },
  })
}
