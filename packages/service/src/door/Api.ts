/** Everything that one caller does in one workspace. */
import { requestsPerDay, requestsPerMinute } from "@messaging-service/core"
import type { Caller, Failure } from "@messaging-service/core"
import { dailyQuota, messagesRemaining } from "@messaging-service/core/ports"
import { Effect } from "effect"
import type { Account, Api } from "../api/Messaging.ts"
import type { ComposedService } from "../compose/index.ts"
import type { Run } from "./Calls.ts"
import { mediaApi } from "./media.ts"
import { messagesApi } from "./messages.ts"
import { numberChecksApi, numbersApi } from "./numbers.ts"
import { remindersApi } from "./reminders.ts"
import { webhooksApi } from "./webhooks.ts"

/** Who calls, and how. */
export interface Calling {
  readonly run: Run
  /** Made anew for every call: what it holds of the workspace is of that moment. */
  readonly caller: Effect.Effect<Caller, Failure, ComposedService>
  /** Whether the caller is the program itself, not a key that is admitted. */
  readonly isTrusted: boolean
  /** Whether the store can take part in a transaction of the program's. */
  readonly joins: boolean
}

/** Makes a part of the interface for a caller. */
export type CallerApi<Part> = (calling: Calling) => Part

const accountOf = ({ key, mode, numberIds, scopes, workspace }: Caller): Account => ({
  workspace: { id: workspace.id, name: workspace.name },
  key:
    key === null
      ? null
      : {
          id: key.id,
          name: key.name,
          expiresAt: key.expiresAt === null ? null : new Date(key.expiresAt),
        },
  mode,
  scopes,
  numberIds,
  plan: workspace.plan?.name ?? null,
  limits: {
    requestsPerMinute,
    requestsPerDay,
    messagesPerNumberPerDay: dailyQuota.messages,
    messagesRemaining: messagesRemaining(workspace.plan),
  },
})

export const makeApi: CallerApi<Api> = (calling) => ({
  account: () => calling.run(Effect.map(calling.caller, accountOf)),
  messages: messagesApi(calling),
  reminders: remindersApi(calling),
  numbers: numbersApi(calling),
  numberChecks: numberChecksApi(calling),
  media: mediaApi(calling),
  webhooks: webhooksApi(calling),
})
