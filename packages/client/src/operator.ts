/** The operator API, which the service's operator token opens, with the controls of simulated phones. */
import { makeEndpoints } from "./endpoints.ts"
import type { Endpoints } from "./endpoints.ts"
import { bearer, makeAsk } from "./request.ts"
import type { ConnectionOptions } from "./request.ts"

/** How to reach the service, and with which operator token. */
export interface OperatorOptions extends ConnectionOptions {
  /** The service's `OPERATOR_TOKEN`. */
  readonly token: string
  /** Acts as that role of the workspaces instead of their owner; what it may not do is `role_required`. */
  readonly actingRole?: "owner" | "administrator" | "member"
}

const simulatorOf = (at: Endpoints) => ({
  /** Sets how a number's phone behaves from now on; what is left out gets its default. */
  setBehaviour: at.put("/admin/v1/simulator/numbers/{number_id}/behaviour"),
  /** Scans the QR code or types the pairing code: the number is connected then. */
  scan: at.post("/admin/v1/simulator/numbers/{number_id}/scan"),
  /** Logs the phone out. */
  logOut: at.order("/admin/v1/simulator/numbers/{number_id}/logout"),
  /** Sets which phones exist; null for all but those that end in 0000. */
  setRegistered: at.put("/admin/v1/simulator/registered"),
  /** Lets the tick of a message arrive: `delivered` or `read`. */
  tick: at.post("/admin/v1/simulator/messages/{message_id}/ticks"),
  /** What left the phones, newest first: one entry for each copy that a recipient would see. */
  sent: at.list("/admin/v1/simulator/sent"),
  /** The service's time. */
  clock: at.get("/admin/v1/simulator/clock"),
  /** Moves the time on, and works off what falls due on the way. Needs `CLOCK=adjustable`. */
  advance: at.post("/admin/v1/simulator/clock/advance"),
  /** Answers once nothing is due and nothing is in flight. */
  settle: at.order("/admin/v1/simulator/settle"),
})

/**
 * A client for operators. A workspace in the path is the first argument. Every method rejects
 * with a `MessagingError`; what is not there is `workspace_not_found`, `key_not_found`,
 * `number_not_found` and so on.
 *
 * @example
 * const operator = operatorClient({ url: "https://messages.example.com", token })
 * const { id } = await operator.workspaces.create({ name: "Shop" })
 */
export const operatorClient = ({ actingRole, token, ...connection }: OperatorOptions) => {
  const role = actingRole === undefined ? {} : { "acting-role": actingRole }
  const at = makeEndpoints(makeAsk(connection, { ...bearer("token", token), ...role }))
  return {
    workspaces: {
      /** Makes a workspace, with the unlimited plan unless another is given. */
      create: at.post("/admin/v1/workspaces"),
      /** Workspaces, newest first. */
      list: at.list("/admin/v1/workspaces"),
      /** A workspace. */
      get: at.get("/admin/v1/workspaces/{id}"),
      /** Changes the fields that are given. */
      update: at.patch("/admin/v1/workspaces/{id}"),
      /** Deletes a workspace: its keys stop, and its waiting messages are cancelled. */
      delete: at.remove("/admin/v1/workspaces/{id}"),
    },

    keys: {
      /** Makes a key of version 2 or 1. Keep the answer's `key`: it is shown only here. */
      create: at.post("/admin/v1/workspaces/{id}/keys"),
      /** Keys, oldest first, revoked ones included. */
      list: at.get("/admin/v1/workspaces/{id}/keys"),
      /** Stops a key at once, and the webhook endpoints that it made. */
      revoke: at.remove("/admin/v1/workspaces/{id}/keys/{key_id}"),
    },

    numbers: {
      /** Adds a number. A live one can only be made `disconnected`: link it with `numbers.connect`. */
      create: at.post("/admin/v1/workspaces/{id}/numbers"),
      /** All numbers of a workspace, with their pacing and proxy. */
      list: at.get("/admin/v1/workspaces/{id}/numbers"),
      /** Changes the label, the pacing or the proxy. */
      update: at.patch("/admin/v1/workspaces/{id}/numbers/{number_id}"),
      /** Removes a number; its waiting messages are cancelled. */
      delete: at.remove("/admin/v1/workspaces/{id}/numbers/{number_id}"),
      /** How its connection is, how many messages wait, and when the next of them may leave. */
      connection: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}/connection"),
      /** Lets nothing leave, until that time or until it is resumed; messages wait and may expire. */
      pause: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/pause"),
      /** Ends a pause, also one that the service made when the far side refused too much. */
      resume: at.order("/admin/v1/workspaces/{id}/numbers/{number_id}/resume"),
      /** Logs it out at the far side and wipes its credentials; its messages go on waiting. */
      logOut: at.order("/admin/v1/workspaces/{id}/numbers/{number_id}/logout"),
    },

    /** Logging Telegram accounts in. */
    telegramLogins: {
      /** Begins a login by `qr` or by `code`. Refused with `telegram_not_configured`. */
      begin: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** The state of the login, or `login_not_found`. */
      get: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** Gives the login up. */
      cancel: at.remove("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** Gives the code that Telegram sent. Refused with `invalid_code`, it may be given again. */
      code: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/code"),
      /** Gives the account's password. Refused with `invalid_password`, it may be given again. */
      password: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/password"),
    },

    contacts: {
      /** Saves a contact with a phone or a username. */
      create: at.post("/admin/v1/workspaces/{id}/contacts"),
      /** Contacts, newest first. */
      list: at.list("/admin/v1/workspaces/{id}/contacts"),
      /** Deletes a contact. */
      delete: at.remove("/admin/v1/workspaces/{id}/contacts/{contact_id}"),
    },

    webhooks: {
      /** All endpoints of a workspace, of live and test keys, stopped ones included. */
      list: at.get("/admin/v1/workspaces/{id}/webhooks"),
      /** Every attempt to deliver to an endpoint, newest first. */
      deliveries: at.list("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries"),
      /** Starts a stopped endpoint again. */
      resume: at.order("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/resume"),
      /** Delivers an event once more, under the same event id. Refused with `webhook_stopped`. */
      redeliver: at.post("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/redeliver"),
    },

    callbacks: {
      /** Every attempt at a callback of version 1, newest first. */
      deliveries: at.list("/admin/v1/workspaces/{id}/callbacks/deliveries"),
      /** The secret that signs them. */
      secret: at.get("/admin/v1/workspaces/{id}/callback-secret"),
      /** Makes another secret. The old one stops working at once. */
      rotateSecret: at.order("/admin/v1/workspaces/{id}/callback-secret/rotate"),
    },

    reminders: {
      /** Every run of a reminder, newest first: what it sent, or why it sent nothing. */
      runs: at.list("/admin/v1/workspaces/{id}/reminders/{reminder_id}/runs"),
    },

    messages: {
      /** Cancels a waiting message of a workspace, live or test. Refused with `not_cancellable`. */
      cancel: at.remove("/admin/v1/workspaces/{id}/messages/{message_id}"),
    },

    /** A store that went back in time: restored from a backup, or by a standby that lagged. */
    store: {
      /** Ids given before are not given again, and what waits is held. Refused with `already_restored`. */
      restored: at.post("/admin/v1/store/restored"),
      /** Each workspace of which anything is held. */
      held: at.get("/admin/v1/held"),
    },

    /** What a workspace holds since the store went back in time. */
    held: {
      /** Held messages, newest first. */
      list: at.list("/admin/v1/workspaces/{id}/held"),
      /** Lets what is selected go on; at most 1,000 a call. */
      release: at.post("/admin/v1/workspaces/{id}/held/release"),
      /** Cancels what is selected; reminders go on with their next run. At most 1,000 a call. */
      cancel: at.post("/admin/v1/workspaces/{id}/held/cancel"),
    },

    /** The other side of the wire and the clock; there only with `TRANSPORT=simulated`. */
    simulator: simulatorOf(at),
  }
}

/** What `operatorClient` makes. */
export type OperatorClient = ReturnType<typeof operatorClient>
