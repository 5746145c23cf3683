/** Everything that one caller can do in one workspace. */
import {
  dailyQuota,
  messagesRemaining,
  requestsPerDay,
  requestsPerMinute,
} from "@messaging-service/core"
import type { Caller } from "@messaging-service/core"
import { Effect } from "effect"
import type { Account, Api } from "../api/Messaging.ts"
import type { CallerApi } from "./Calls.ts"
import { mediaApi } from "./media.ts"
import { messagesApi } from "./messages.ts"
import { numberChecksApi, numbersApi } from "./numbers.ts"
import { remindersApi } from "./reminders.ts"
import { webhooksApi } from "./webhooks.ts"

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
