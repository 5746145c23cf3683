/** Each call of a receiver is signed with the current secret, over its time and its raw body. */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { endpointsOf, graceOf, secretsAt, toldOf } from "./endpoints.ts"
import type { Told } from "./endpoints.ts"
import { callsOf } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const signatureOf = (secret: string, { body, timestamp }: Told): string =>
  `v1=${bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(`${timestamp}.${body}`)))}`

export const signed: JudgedPromise = {
  name: "signatures",
  check: (history) => {
    const violations: Array<string> = []
    const graceAt = graceOf(history)
    const judge = (told: Told, setting: ReadonlyArray<Call>) => {
      const { secrets, isKnown } = secretsAt(setting, told.calledAt, graceAt(told.calledAt))
      const isValid = secrets.some((secret) => signatureOf(secret, told) === told.signature)
      if (isKnown && !isValid) {
        violations.push(`${told.url} was told ${told.eventId} with a signature that is not its own`)
      }
      const late = Math.abs(told.calledAt - Number(told.timestamp) * 1000)
      if (history.setting.isTimeTrue && late >= 1000) {
        violations.push(`${told.url} was told ${told.eventId} with a timestamp ${late} ms off`)
      }
    }
    for (const { changes, makes, told } of endpointsOf(history)) {
      const setting = [...makes, ...(changes.RotateSecret ?? [])]
      for (const call of told) judge(call, setting)
    }
    const setting = callsOf(history).filter(
      ({ ask }) => ask._tag === "RotateCallbackSecret" || ask._tag === "ReadCallbackSecret",
    )
    for (const call of toldOf(history)) if (call.kind === "callback") judge(call, setting)
    return violations
  },
}
