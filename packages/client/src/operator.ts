/**
 * The operator API, which needs the service's operator token, with the controls of simulated phones.
 */
import { makeEndpoints } from "./endpoints.ts"
import { makeFollow } from "./events.ts"
import type { Endpoints } from "./endpoints.ts"
import { bearer, makeRequester, makeOpenEvents } from "./request.ts"
import type { ConnectionOptions } from "./request.ts"

/** Service address and operator token. */
export interface OperatorOptions extends ConnectionOptions {
  /** The service's `OPERATOR_TOKEN`. */
  readonly token: string
  /**
   * Acts in that role instead of as the workspaces' owner. Forbidden calls fail with `role_required`.
   */
  readonly actingRole?: "owner" | "administrator" | "member"
}

const makeSimulator = (at: Endpoints) => ({
  /** The behaviour of a number's phone, as set or its defaults. */
  behaviour: at.get("/admin/v1/simulator/numbers/{number_id}/behaviour"),
  /** Which phones exist; null for all but those that end in 0000. */
  registered: at.get("/admin/v1/simulator/registered"),
  /** Sets the behaviour of a number's phone from now on; omitted fields get their defaults. */
  setBehaviour: at.put("/admin/v1/simulator/numbers/{number_id}/behaviour"),
  /** Scans the QR code or types the pairing code, which connects the number. */
  scan: at.post("/admin/v1/simulator/numbers/{number_id}/scan"),
  /** A person writes to the number, or its owner on the phone. A known `remote_id` stores nothing. */
  write: at.post("/admin/v1/simulator/numbers/{number_id}/received-messages"),
  /** The author edits a received message. */
  edit: at.post("/admin/v1/simulator/received-messages/{id}/edit"),
  /** The author takes a received message back. */
  revoke: at.order("/admin/v1/simulator/received-messages/{id}/revoke"),
  /** A person reacts to a sent message; null takes the reaction back. */
  react: at.post("/admin/v1/simulator/messages/{message_id}/react"),
  /** WhatsApp closes new chats to the number, or caps them; a field that is left out means neither. */
  restrict: at.put("/admin/v1/simulator/numbers/{number_id}/restrictions"),
  /** The number's connection is lost, or back: then what was written meanwhile comes, in order. */
  setAway: at.put("/admin/v1/simulator/numbers/{number_id}/away"),
  /** The platform skips messages of the number. */
  skip: at.order("/admin/v1/simulator/numbers/{number_id}/gap"),
  /** How far each chat is marked as read on the phone. */
  readMarks: at.get("/admin/v1/simulator/numbers/{number_id}/read-marks"),
  /** Logs the phone out. */
  logOut: at.order("/admin/v1/simulator/numbers/{number_id}/logout"),
  /** Sets which phones exist; null for all but those that end in 0000. */
  setRegistered: at.put("/admin/v1/simulator/registered"),
  /** Confirms a message as `delivered` or `read`. */
  tick: at.post("/admin/v1/simulator/messages/{message_id}/ticks"),
  /**
   * Messages that left the phones, newest first: one entry for each copy that a recipient would see.
   */
  sent: at.list("/admin/v1/simulator/sent"),
  /** The receivers of a workspace's webhooks and callbacks, `https://<name>.receiver.test/…`. */
  receivers: at.get("/admin/v1/simulator/workspaces/{id}/receivers"),
  /** Sets what a receiver answers from now on; omitted fields get their defaults. */
  setReceiverAnswer: at.put("/admin/v1/simulator/workspaces/{id}/receivers/{name}"),
  /** The latest calls of a receiver, newest first. */
  receiverCalls: at.get("/admin/v1/simulator/workspaces/{id}/receivers/{name}/calls"),
  /** Forgets the calls of a receiver. */
  clearReceiverCalls: at.remove("/admin/v1/simulator/workspaces/{id}/receivers/{name}/calls"),
  /** The service's time. */
  clock: at.get("/admin/v1/simulator/clock"),
  /** Advances the time, and does all work that falls due. Needs `CLOCK=adjustable`. */
  advance: at.post("/admin/v1/simulator/clock/advance"),
  /** Returns once nothing is due and nothing is in flight. */
  settle: at.order("/admin/v1/simulator/settle"),
})

/** Links into a workspace's portal. */
const makePortalSessions = (at: Endpoints) => ({
  /** Creates a link that signs in once. Keep the response's `url`: only this response shows it. */
  create: at.post("/admin/v1/workspaces/{id}/portal-sessions"),
  /** Links, newest first; ended ones for 30 days. */
  list: at.list("/admin/v1/workspaces/{id}/portal-sessions"),
  /** Stops a link and its session at once. */
  revoke: at.remove("/admin/v1/workspaces/{id}/portal-sessions/{session_id}"),
})

/** Browsers keep their session in a cookie; this client's token needs none. */
const toSession = (at: Endpoints) => ({
  /** Begins a session with the operator token, or with the code of a link. */
  signIn: at.post("/admin/v1/session"),
  /** Creates a link that signs a browser of the operator in, once, within 15 minutes. */
  createLink: at.order("/admin/v1/sign-in-links"),
  /** The session of the request's cookie; null without one. */
  get: at.get("/admin/v1/session"),
  /** Ends the session of the request's cookie. */
  signOut: at.remove("/admin/v1/session"),
})

/** As a key of the workspace does it: a list's query and the last argument of others name the `mode`. */
const listMessages = (at: Endpoints) => ({
  /** Messages, newest first. */
  list: at.list("/admin/v1/workspaces/{id}/messages"),
  /** Sends a message. */
  send: at.create("/admin/v1/workspaces/{id}/messages"),
  /** Sends to many recipients: all or nothing. */
  sendBatch: at.create("/admin/v1/workspaces/{id}/messages/batch"),
  /** A message as it is now. */
  get: at.get("/admin/v1/workspaces/{id}/messages/{message_id}"),
  /** Cancels at most 1,000 waiting messages; `more` says that the filter leaves others. */
  cancelMany: at.post("/admin/v1/workspaces/{id}/messages/cancel"),
  /** Why it waits, and every step from acceptance to ticks and deliveries. */
  timeline: at.get("/admin/v1/workspaces/{id}/messages/{message_id}/timeline"),
  /** Cancels a waiting message, live or test. Fails with `not_cancellable`. */
  cancel: at.remove("/admin/v1/workspaces/{id}/messages/{message_id}"),
})

const toNumbers = (at: Endpoints) => ({
  /** Adds a number. A live one starts as `disconnected`: link it with `numbers.connect`. */
  create: at.post("/admin/v1/workspaces/{id}/numbers"),
  /** All numbers of a workspace, with their pacing and proxy. */
  list: at.get("/admin/v1/workspaces/{id}/numbers"),
  /** Starts linking a WhatsApp number, as `numbers.connect` of a key does. */
  link: at.create("/admin/v1/workspaces/{id}/numbers/link"),
  /** A number with its pacing and proxy, and while it connects its code and when that ends. */
  get: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}"),
  /** Changes the label, the pacing or the proxy. */
  update: at.patch("/admin/v1/workspaces/{id}/numbers/{number_id}"),
  /** Removes a number; its waiting messages become cancelled. */
  delete: at.remove("/admin/v1/workspaces/{id}/numbers/{number_id}"),
  /** Connections of all numbers of a workspace, with their quota and what they sent by the hour. */
  connections: at.get("/admin/v1/workspaces/{id}/connections"),
  /** State of its connection, its number of waiting messages, and when the next may leave. */
  connection: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}/connection"),
  /** What WhatsApp lets it do with new chats, while conversations are on. */
  restrictions: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}/restrictions"),
  /** Pauses sending until that time or until `resume`; messages wait and may expire. */
  pause: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/pause"),
  /** Ends a pause, even one that the service began because the remote server refused too much. */
  resume: at.order("/admin/v1/workspaces/{id}/numbers/{number_id}/resume"),
  /** Opens one connection through the number's proxy, within ten seconds. */
  checkProxy: at.order("/admin/v1/workspaces/{id}/numbers/{number_id}/check-proxy"),
  /** Logs it out at the remote server and erases its credentials; its messages keep waiting. */
  logOut: at.order("/admin/v1/workspaces/{id}/numbers/{number_id}/logout"),
})

const makeReminders = (at: Endpoints) => ({
  /** Creates a reminder. */
  create: at.create("/admin/v1/workspaces/{id}/reminders"),
  /** Reminders, newest first, paused ones included. */
  list: at.list("/admin/v1/workspaces/{id}/reminders"),
  /** A reminder with its next and its last run. */
  get: at.get("/admin/v1/workspaces/{id}/reminders/{reminder_id}"),
  /** Changes the given fields. */
  update: at.patch("/admin/v1/workspaces/{id}/reminders/{reminder_id}"),
  /** Deletes a reminder. */
  delete: at.remove("/admin/v1/workspaces/{id}/reminders/{reminder_id}"),
  /** The next runs of a schedule, with what clock changes do to them. */
  preview: at.post("/admin/v1/workspaces/{id}/reminders/preview"),
  /** Runs a reminder now. Its schedule continues as before. */
  run: at.createPlain("/admin/v1/workspaces/{id}/reminders/{reminder_id}/run"),
  /** Every run of a reminder, newest first: what it sent, or why it sent nothing. */
  runs: at.list("/admin/v1/workspaces/{id}/reminders/{reminder_id}/runs"),
})

const toMedia = (at: Endpoints) => ({
  /** Uploads a file. */
  upload: at.upload("/admin/v1/workspaces/{id}/media"),
  /** Files, newest first. */
  list: at.list("/admin/v1/workspaces/{id}/media"),
  /** A file with a fresh link. */
  get: at.get("/admin/v1/workspaces/{id}/media/{media_id}"),
  /** Deletes a file. */
  delete: at.remove("/admin/v1/workspaces/{id}/media/{media_id}"),
})

const makeConversations = (at: Endpoints) => ({
  /** Their settings, and what is stored. */
  get: at.get("/admin/v1/workspaces/{id}/conversations"),
  /** Turns them on, or replaces all settings. */
  set: at.put("/admin/v1/workspaces/{id}/conversations"),
  /** Turns them off, and erases what was received. */
  delete: at.remove("/admin/v1/workspaces/{id}/conversations"),
})

const makeReceivedMessages = (at: Endpoints) => ({
  /** What people wrote, newest first; with `number` and `after` behind that `sequence`, lowest first. */
  list: at.list("/admin/v1/workspaces/{id}/received-messages"),
  /** A message. */
  get: at.get("/admin/v1/workspaces/{id}/received-messages/{received_message_id}"),
  /** Erases a message here, not on phones. */
  delete: at.remove("/admin/v1/workspaces/{id}/received-messages/{received_message_id}"),
})

const makeChats = (at: Endpoints) => ({
  /** Chats, the latest activity first. */
  list: at.list("/admin/v1/workspaces/{id}/chats"),
  /** A chat. */
  get: at.get("/admin/v1/workspaces/{id}/chats/{chat_id}"),
  /** Erases all that was received in it. */
  delete: at.remove("/admin/v1/workspaces/{id}/chats/{chat_id}"),
  /** What is in it, in both directions, newest first. */
  messages: at.list("/admin/v1/workspaces/{id}/chats/{chat_id}/messages"),
  /** Marks it as read up to a message of it, never back, here and on the phone. */
  markRead: at.create("/admin/v1/workspaces/{id}/chats/{chat_id}/read"),
})

const makeCampaigns = (at: Endpoints) => ({
  /** Creates a draft. */
  create: at.create("/admin/v1/workspaces/{id}/campaigns"),
  /** Campaigns, newest first. */
  list: at.list("/admin/v1/workspaces/{id}/campaigns"),
  /** A campaign with its counts, what it waits for and when it finishes. */
  get: at.get("/admin/v1/workspaces/{id}/campaigns/{campaign_id}"),
  /** Changes the given fields. */
  update: at.patch("/admin/v1/workspaces/{id}/campaigns/{campaign_id}"),
  /** Stops and deletes a campaign. Its messages stay. */
  remove: at.remove("/admin/v1/workspaces/{id}/campaigns/{campaign_id}"),
  /** Adds up to 1,000 rows to a draft; `problems` tells which are refused, and why. */
  addRows: at.create("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows"),
  /** Adds the rows of a CSV file to a draft, all or none. */
  uploadRows: at.uploadTo("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows"),
  /** Deletes all rows of a draft. */
  clearRows: at.remove("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows"),
  /** Rows in their order, each with its outcome. */
  rows: at.list("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows"),
  /** One row. */
  row: at.get("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/rows/{row}"),
  /** The outcome of each row, as a stream of CSV. */
  results: at.download("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/results.csv"),
  /** When it would start and finish, from what is known now. */
  forecast: at.get("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/forecast"),
  /** Starts a draft. */
  start: at.order("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/start"),
  /** Pauses it; what waits in queues is held. */
  pause: at.order("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/pause"),
  /** Resumes it. After a restore of the store `from_row` names the first row that had not left. */
  resume: at.post("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/resume"),
  /** Stops it for good: pending rows are skipped, and waiting messages cancelled. */
  stop: at.order("/admin/v1/workspaces/{id}/campaigns/{campaign_id}/stop"),
})

const makeNumberChecks = (at: Endpoints) => ({
  /** Starts checking which phones are on WhatsApp. */
  create: at.create("/admin/v1/workspaces/{id}/number-checks"),
  /** Checks, newest first. */
  list: at.list("/admin/v1/workspaces/{id}/number-checks"),
  /** A check and its progress. */
  get: at.get("/admin/v1/workspaces/{id}/number-checks/{check_id}"),
  /** Results for each phone. */
  results: at.list("/admin/v1/workspaces/{id}/number-checks/{check_id}/results"),
})

const makeWebhooks = (at: Endpoints) => ({
  /** Adds an endpoint that belongs to no key. Only this response shows its `secret`. */
  create: at.create("/admin/v1/workspaces/{id}/webhooks"),
  /** All endpoints of a workspace, of live and test keys, stopped ones included. */
  list: at.get("/admin/v1/workspaces/{id}/webhooks"),
  /** Removes an endpoint. */
  delete: at.remove("/admin/v1/workspaces/{id}/webhooks/{webhook_id}"),
  /** Replaces its secret. The old one stops working at once. */
  rotateSecret: at.order("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/rotate-secret"),
  /** Sends it a `ping`. */
  test: at.order("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/test"),
  /** Every attempt to deliver to an endpoint, newest first. */
  deliveries: at.list("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries"),
  /** One attempt, with what was sent and the beginning of what was answered. */
  delivery: at.get("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/deliveries/{delivery_id}"),
  /** Changes its URL, its events or its description. Its secret stays. */
  update: at.patch("/admin/v1/workspaces/{id}/webhooks/{webhook_id}"),
  /** Delivers again what no attempt since a time has delivered. Ask again while there is `more`. */
  recover: at.post("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/recover"),
  /** Restarts a stopped endpoint. */
  resume: at.order("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/resume"),
  /** Delivers an event again, under the same event id. Fails with `webhook_stopped`. */
  redeliver: at.post("/admin/v1/workspaces/{id}/webhooks/{webhook_id}/redeliver"),
})

/**
 * Creates a client for operators. A path's workspace is the first argument. Every method rejects with
 * a `MessagingError`; missing things give `workspace_not_found`, `key_not_found`, `number_not_found`
 * and so on.
 *
 * @example
 * const operator = operatorClient({ url: "https://messages.example.com", token })
 * const { id } = await operator.workspaces.create({ name: "Shop" })
 */
export const operatorClient = ({ actingRole, token, ...connection }: OperatorOptions) => {
  const role = actingRole === undefined ? {} : { "acting-role": actingRole }
  const credentials = { ...bearer("token", token), ...role }
  const at = makeEndpoints(makeRequester(connection, credentials))
  return {
    /**
     * Follows what changes in a workspace. It connects again by itself; a refusal ends it.
     *
     * @example
     * for await (const { topic, ids } of operator.follow(workspace)) console.log(topic, ids)
     */
    follow: makeFollow(makeOpenEvents(connection, credentials)),
    /** Sessions of browsers. */
    session: toSession(at),

    portalSessions: makePortalSessions(at),

    workspaces: {
      /** Creates a workspace. Default plan: unlimited. */
      create: at.post("/admin/v1/workspaces"),
      /** Workspaces, newest first. */
      list: at.list("/admin/v1/workspaces"),
      /** A workspace. */
      get: at.get("/admin/v1/workspaces/{id}"),
      /** Changes the given fields. */
      update: at.patch("/admin/v1/workspaces/{id}"),
      /** Deletes a workspace: its keys stop, and its waiting messages become cancelled. */
      delete: at.remove("/admin/v1/workspaces/{id}"),
    },

    keys: {
      /** Creates a key of version 2 or 1. Keep the response's `key`: only this response shows it. */
      create: at.post("/admin/v1/workspaces/{id}/keys"),
      /** Keys, oldest first, revoked ones included. */
      list: at.get("/admin/v1/workspaces/{id}/keys"),
      /** Revokes a key at once, and stops the webhook endpoints that it created. */
      revoke: at.remove("/admin/v1/workspaces/{id}/keys/{key_id}"),
    },

    numbers: toNumbers(at),

    /** Logins of Telegram accounts. */
    telegramLogins: {
      /** Starts a login by `qr` or by `code`. Fails with `telegram_not_configured`. */
      begin: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** The state of the login, or `login_not_found`. */
      get: at.get("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** Cancels the login. */
      cancel: at.remove("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login"),
      /** Submits the code that Telegram sent. After `invalid_code` you may submit another. */
      code: at.post("/admin/v1/workspaces/{id}/numbers/{number_id}/telegram-login/code"),
      /** Submits the account's password. After `invalid_password` you may submit another. */
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

    webhooks: makeWebhooks(at),

    callbacks: {
      /** Every attempt at a callback of version 1, newest first. */
      deliveries: at.list("/admin/v1/workspaces/{id}/callbacks/deliveries"),
      /** The secret that signs them. */
      secret: at.get("/admin/v1/workspaces/{id}/callback-secret"),
      /** Creates a new secret. The old one stops working at once. */
      rotateSecret: at.order("/admin/v1/workspaces/{id}/callback-secret/rotate"),
    },

    reminders: makeReminders(at),
    messages: listMessages(at),
    media: toMedia(at),
    numberChecks: makeNumberChecks(at),
    campaigns: makeCampaigns(at),
    conversations: makeConversations(at),
    receivedMessages: makeReceivedMessages(at),
    chats: makeChats(at),

    /** How a workspace and the service do. */
    figures: {
      /** What happened in a workspace in 24 hours, 7 or 30 days, and what waits. */
      get: at.query("/admin/v1/workspaces/{id}/figures"),
      /** How the service does, and the processes on its store. */
      service: at.get("/admin/v1/figures"),
    },

    /** A store that went back in time, through a restored backup or a lagging standby. */
    store: {
      /** Reserves earlier ids, and holds what waits. Fails with `already_restored`. */
      restored: at.post("/admin/v1/store/restored"),
      /** Workspaces that hold messages or reminders. */
      held: at.get("/admin/v1/held"),
    },

    /** Messages and reminders that a workspace holds since the store went back in time. */
    held: {
      /** Held messages, newest first. */
      list: at.list("/admin/v1/workspaces/{id}/held"),
      /** Releases the selection; at most 1,000 per call. */
      release: at.post("/admin/v1/workspaces/{id}/held/release"),
      /** Cancels the selection; reminders continue with their next run. At most 1,000 per call. */
      cancel: at.post("/admin/v1/workspaces/{id}/held/cancel"),
      /** Marks the selection as sent: it had left after the backup. At most 1,000 per call. */
      markSent: at.post("/admin/v1/workspaces/{id}/held/mark-sent"),
    },

    /** The remote phones and the clock; only with `TRANSPORT=simulated`. */
    simulator: makeSimulator(at),
  }
}

/** Result of `operatorClient`. */
export type OperatorClient = ReturnType<typeof operatorClient>
