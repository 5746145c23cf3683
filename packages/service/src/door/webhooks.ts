/** Webhook endpoints of a caller. */
import { Webhooks } from "@messaging-service/core"
import type {
  CreateWebhook,
  EndpointWithSecret,
  WebhookEndpoint,
  WebhookId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { WebhookWithSecret, WebhooksApi } from "../api/webhooks.ts"
import { bodyOf } from "../names.ts"
import type { CallerApi } from "./Calls.ts"
import { idOf, made, repeatable } from "./asking.ts"
import { webhookShown } from "./records.ts"

const withSecret = (endpoint: WebhookEndpoint | EndpointWithSecret): WebhookWithSecret => {
  const { secret, ...record } = { secret: null, ...endpoint }
  return { ...webhookShown(record), secret }
}

export const webhooksApi: CallerApi<WebhooksApi> = ({ caller, run }) => ({
  create: (command, options) =>
    run(
      Effect.gen(function* () {
        const body = bodyOf<CreateWebhook>(command)
        const who = yield* caller
        const repeat = yield* repeatable(options, "/api/v2/webhooks", body)
        const { answer, replayed } = yield* (yield* Webhooks).create(who, body, repeat)
        return made(withSecret(answer), replayed)
      }),
    ),
  list: () =>
    run(
      Effect.gen(function* () {
        return (yield* (yield* Webhooks).list(yield* caller)).map(webhookShown)
      }),
    ),
  get: (id) =>
    run(
      Effect.gen(function* () {
        return webhookShown(yield* (yield* Webhooks).get(yield* caller, idOf<WebhookId>(id)))
      }),
    ),
  remove: (id) =>
    run(
      Effect.gen(function* () {
        yield* (yield* Webhooks).remove(yield* caller, idOf<WebhookId>(id))
      }),
    ),
  rotateSecret: (id) =>
    run(
      Effect.gen(function* () {
        return withSecret(yield* (yield* Webhooks).rotateSecret(yield* caller, idOf<WebhookId>(id)))
      }),
    ),
  test: (id) =>
    run(
      Effect.gen(function* () {
        return yield* (yield* Webhooks).test(yield* caller, idOf<WebhookId>(id))
      }),
    ),
})
