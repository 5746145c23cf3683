/** The query of GET /messages (contract: Listing messages). */
import { Result, Schema } from "effect"
import type { NumberId } from "../Ids.ts"
import { parsePhone, phoneDescribed } from "../recipient/Phone.ts"
import { instantParameter, parsed } from "../request/Input.ts"
import { defaultLimit } from "../request/Page.ts"
import { namesInput, pageFields, queryDecoder, queryId } from "../request/PageInput.ts"
import type { ListPage } from "../request/PageInput.ts"
import type { Instant, Moment } from "../time/Instant.ts"
import { messageStatuses } from "./Message.ts"
import type { MessageStatus } from "./Message.ts"
import type { MessageFilter } from "./MessageStore.ts"

/** The query parameters of GET /messages. */
export const ListQuery = Schema.Struct({
  status: Schema.optionalKey(namesInput(messageStatuses)),
  from: Schema.optionalKey(queryId("Id of the sending number.")),
  to: Schema.optionalKey(
    parsed("invalid_phone", parsePhone, {
      ...phoneDescribed,
      description: "The recipient's phone, E.164 with a leading +; write + as %2B.",
    }),
  ),
  since: Schema.optionalKey(instantParameter("Created then or later.")),
  until: Schema.optionalKey(instantParameter("Created before.")),
  ...pageFields,
})

const decode = queryDecoder(ListQuery)

/** Stored times are whole milliseconds: the first one that is not before the instant. */
const ceiling = (instant: Instant) => instant.millis + (instant.beyond === "" ? 0 : 1)

/** Which messages. */
export interface ListMessages extends ListPage {
  readonly status?: MessageStatus | ReadonlyArray<MessageStatus>
  /** The sending number. */
  readonly from?: number
  /** The recipient's phone. */
  readonly to?: string
  /** Created then or later. */
  readonly since?: Moment
  /** Created before. */
  readonly until?: Moment
}

/** From the values themselves, or from their text in a query. */
export const parseListRequest = (given: ListMessages) =>
  Result.map(decode(given), ({ cursor = null, limit = defaultLimit, ...query }) => {
    const filter: MessageFilter = {
      statuses: query.status ?? null,
      from: (query.from as NumberId | undefined) ?? null,
      phone: query.to ?? null,
      since: query.since === undefined ? null : ceiling(query.since),
      until: query.until === undefined ? null : ceiling(query.until),
    }
    return { filter, limit, cursor }
  })
