/** A far side to which Telegram accounts log in, for the document's answers. */
import { TelegramLogin } from "@messaging-service/core/ports"
import type { TelegramLoginView } from "@messaging-service/core/ports"
import { Effect, Layer } from "effect"

/** Simulated numbers have no account to log in, so a far side for it answers here. */
export const layerLogin = Effect.gen(function* () {
  const going = new Set<number>()
  const view = (state: TelegramLoginView["state"]): TelegramLoginView => ({
    state,
    qr: state === "showing_qr" ? { url: "tg://login?token=AA", expiresAt: 30_000 } : null,
    codeSentTo: state === "showing_qr" ? null : "app",
    expiresAt: 600_000,
    error: null,
  })
  return TelegramLogin.of({
    isConfigured: true,
    begin: (id) => Effect.sync(() => (going.add(id), view("showing_qr"))),
    look: (id) => Effect.succeed(going.has(id) ? view("code_sent") : null),
    giveCode: (_, code) => Effect.succeed(code === "12345" ? view("password_needed") : "wrong"),
    givePassword: (_, text) => Effect.succeed(text === "secret" ? view("connected") : "wrong"),
    cancel: (id) => Effect.sync(() => going.delete(id)),
  })
}).pipe(Layer.effect(TelegramLogin))
