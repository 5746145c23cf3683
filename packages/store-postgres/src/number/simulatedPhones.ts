/** How each simulated phone behaves, and what was sent to it. */
import type {
  Phone,
  PhoneBehaviour,
  ReceivedCopy,
  SentCopy,
  SimulatedPhones,
  WrittenMessage,
} from "@messaging-service/core"
import type { DatabaseService } from "../database/Database.ts"
import { idOrNull, statement } from "../database/Sql.ts"
import type { Row } from "../database/Sql.ts"

const getBehaviour = statement("simulated.behaviour")
const setBehaviour = statement("simulated.setBehaviour")
const getRegistered = statement("simulated.registered")
const setRegistered = statement("simulated.setRegistered")
const forgetRegistered = statement("simulated.forgetRegistered")
const receiveCopy = statement("simulated.receive")
const getWritten = statement("simulated.written")
const sentOfAll = statement("simulated.sent")
const sentOfNumber = statement("simulated.sentOfNumber")

const toBehaviour = (row: Row<"simulated.behaviour">): PhoneBehaviour => ({
  send: row.send as PhoneBehaviour["send"],
  errorMessage: row.error_message,
  latencyMillis: Number(row.latency_millis),
  groups: row.groups,
})

/** All null where none is given. */
const toBehaviourParams = (behaviour: PhoneBehaviour | null) => ({
  send: behaviour?.send ?? null,
  errorMessage: behaviour?.errorMessage ?? null,
  latencyMillis: behaviour?.latencyMillis ?? null,
  groups: behaviour?.groups ?? null,
})

const toCopy = (row: Row<"simulated.sent">): SentCopy => ({
  id: Number(row.id),
  messageId: idOrNull<NonNullable<SentCopy["messageId"]>>(row.message_id),
  transportId: row.transport_id as SentCopy["transportId"],
  numberId: Number(row.number_id) as SentCopy["numberId"],
  workspaceId: Number(row.workspace_id) as SentCopy["workspaceId"],
  to: row.recipient,
  text: row.text,
  media: row.media as SentCopy["media"],
  at: row.at.getTime(),
  ...(row.quote !== null && { quote: row.quote }),
})

const toWritten = (row: Row<"simulated.written">): WrittenMessage => {
  const group = row.group_id === null ? null : { remoteId: row.group_id, name: row.chat_name }
  const { lid, name, phone, user_id: userId, username } = row
  const isUnknown = group !== null && row.from_me
  return {
    id: Number(row.id) as WrittenMessage["id"],
    numberId: Number(row.number_id) as WrittenMessage["numberId"],
    message: {
      mode: row.mode as WrittenMessage["message"]["mode"],
      fromMe: row.from_me,
      group,
      person: isUnknown ? null : { phone, lid, userId, username, name },
      remoteId: row.remote_id,
    },
    text: row.text,
  }
}

const toCopyParams = (copy: ReceivedCopy) => ({
  transportId: copy.transportId,
  numberId: copy.numberId,
  recipient: copy.to,
  text: copy.text,
  media: copy.media,
  at: copy.at,
  quote: copy.quote ?? null,
})

export const simulatedPhones = (database: DatabaseService): SimulatedPhones => ({
  behaviour(numberId) {
    return getBehaviour.first(database, { numberId }, toBehaviour)
  },
  setBehaviour(numberId, behaviour) {
    return setBehaviour.run(database, { ...toBehaviourParams(behaviour), numberId })
  },
  registered: getRegistered.first(database, {}, (row) => row.phones as ReadonlyArray<Phone>),
  setRegistered(phones) {
    return phones === null
      ? forgetRegistered.run(database, {})
      : setRegistered.run(database, { phones })
  },
  receive(copy, then) {
    const params = { ...toCopyParams(copy), ...toBehaviourParams(then), follows: then !== null }
    return receiveCopy.any(database, params)
  },
  written(id) {
    return getWritten.first(database, { id }, toWritten)
  },
  sent({ numberId, to, workspaceId }, page) {
    const params = { ...page, workspaceId, recipient: to }
    return numberId === null
      ? sentOfAll.page(database, "phones", params, toCopy)
      : sentOfNumber.page(database, "phones", { ...params, numberId }, toCopy)
  },
})
