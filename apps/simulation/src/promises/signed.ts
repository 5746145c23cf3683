/** Each call of a receiver is signed with the current secret, over its time and its raw body. */
import { hmac } from "@noble/hashes/hmac.js"
import { sha256 } from "@noble/hashes/sha2.js"
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js"
import { getEndpoints, graceBy, secretsAt, getNotifications } from "./endpoints.ts"
import type { Notification } from "./endpoints.ts"
import { getCalls } from "./Promise.ts"
import type { Call, JudgedPromise } from "./Promise.ts"

const sign = (secret: string, { body, timestamp }: Notification): string =>
  `v1=${bytesToHex(hmac(sha256, utf8ToBytes(secret), utf8ToBytes(`${timestamp}.${body}`)))}`

export const signed: JudgedPromise = {
  name: "signatures",
  check: (history) => {
    const violations: Array<string> = []
    const graceAt = graceBy(history)
    const judge = (reported: Notification, setting: ReadonlyArray<Call>) => {
      const { secrets, isKnown } = secretsAt(setting, reported.calledAt, graceAt(reported.calledAt))
      const isValid = secrets.some((secret) => sign(secret, reported) === reported.signature)
      if (isKnown && !isValid) {
        violations.push(
          `${reported.url} was told ${reported.eventId} with a signature that is not its own`,
        )
      }
      const late = Math.abs(reported.calledAt - Number(reported.timestamp) * 1000)
      if (history.setting.isTimeTrue && late >= 1000) {
        violations.push(
          `${reported.url} was told ${reported.eventId} with a timestamp ${late} ms off`,
        )
      }
    }
    for (const { changes, makes, notifications } of getEndpoints(history)) {
      const setting = [...makes, ...(changes.RotateSecret ?? [])]
      for (const call of notifications) judge(call, setting)
    }
    const setting = getCalls(history).filter(
      ({ request }) =>
        request._tag === "RotateCallbackSecret" || request._tag === "ReadCallbackSecret",
    )
    for (const call of getNotifications(history)) if (call.kind === "callback") judge(call, setting)
    return violations
  },
}
