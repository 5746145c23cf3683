/**
 * Ending an attempt at linking together with the status of its number.
 *
 * Locks: the number's lane first, as before all changes of its status; then, where a phone was revealed,
 * the workspace, so that of two numbers that reveal the same one only the first keeps it; then the
 * attempt, which may have ended meanwhile.
 */
import type { EndReports } from "@messaging-service/core"
import { callbackParameters, connectionParameters } from "../webhook/queueDeliveries.ts"
import { instant, text } from "../database/Fields.ts"
import { call, joined, sqlFunction, taking } from "../database/Statement.ts"

interface Reported {
  readonly reports: EndReports | null
}

const finishLinking = sqlFunction(
  "finish_linking",
  joined(
    taking({ attempt: text, phone: text, now: instant }),
    connectionParameters("connected", ({ reports }: Reported) => reports?.connected ?? null),
    connectionParameters("disconnected", ({ reports }: Reported) => reports?.disconnected ?? null),
  ),
)

export const finish = call("linking.linked", finishLinking)

const giveUpLinking = sqlFunction(
  "give_up_linking",
  joined(taking({ attempt: text, at: instant, reason: text }), callbackParameters),
)

export const giveUp = call("linking.giveUp", giveUpLinking)
