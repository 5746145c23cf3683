/**
 * The protocol under the methods: agrees on keys, opens and seals messages, unpacks containers,
 * checks salts, answers pings, and hands requests to the methods.
 */
import { Long } from "@mtcute/node"
import type { mtp, tl } from "@mtcute/node"
import { gzipSync } from "node:zlib"
import type { Connection, Listeners } from "./Connection.ts"
import { getKeyId, openEnvelope, randomLong, sealEnvelope } from "./envelope.ts"
import type { Opened } from "./envelope.ts"
import { makeExchange } from "./exchange.ts"
import type { ServerKey } from "./exchange.ts"
import { findContainer, read, write, writeFutureSalts, writeResult } from "./tl.ts"
import type { Answer, TlObject } from "./tl.ts"
import { endSessions, Refused, secondsNow } from "./ServerState.ts"
import type { AuthKey, Person, ServerState, Session } from "./ServerState.ts"

export interface Call {
  readonly state: ServerState
  readonly key: AuthKey
  readonly push: (person: Person, updates: tl.TypeUpdates) => void
  /** Sends updates to one client, which need not be logged in. */
  readonly pushTo: (keyId: string, updates: tl.TypeUpdates) => void
  readonly toServer: (dcId: number) => number
}

/** A method takes its own request. */
export type Method = (request: never, call: Call) => Answer | Promise<Answer>

/** The connections of one server, and what handles their requests. */
interface MessageLayer {
  readonly state: ServerState
  readonly serverKey: ServerKey
  readonly methods: Readonly<Record<string, Method>>
  readonly open: Set<Connection>
  /** Key exchanges in progress. */
  readonly exchanges: Map<Connection, ReturnType<typeof makeExchange>>
}

interface Item {
  readonly messageId: Long
  readonly seqNo: number
  readonly body: Uint8Array
}

let lastId = 0n

/** Grows with time. The last bits distinguish an answer from a message of the server's own. */
const nextMessageId = (isAnswer: boolean): Long => {
  const now = BigInt(Date.now())
  const id = ((now / 1000n) << 32n) | ((now % 1000n) << 22n)
  lastId = id > lastId ? id : lastId + 4n
  const created = lastId | (isAnswer ? 1n : 3n)
  return new Long(Number(BigInt.asIntN(32, created)), Number(BigInt.asIntN(32, created >> 32n)))
}

const getItems = ({ body, messageId, seqNo }: Opened): ReadonlyArray<Item> => {
  const container = findContainer(body)
  if (container === null) return [{ body, messageId, seqNo }]
  return Array.from({ length: container.uint() }, () => {
    const id = container.long()
    const number = container.uint()
    return { messageId: id, seqNo: number, body: container.raw(container.uint()) }
  })
}

const noKey = "0".repeat(16)

/** How many salts a client receives in advance, each for half an hour. */
const saltsGiven = 8
const saltSeconds = 1800

/** The client's request without its wrappers. */
const unwrap = (request: TlObject) => {
  let inner = request
  let hearsUpdates = true
  let introduces = false
  while ("query" in inner) {
    if (inner._ === "invokeWithoutUpdates") hearsUpdates = false
    if (inner._ === "initConnection") introduces = true
    inner = (inner as TlObject & { readonly query: TlObject }).query
  }
  return { request: inner, hearsUpdates, introduces }
}

const print = (session: Session, body: Uint8Array, isAnswer: boolean, isContent: boolean) => {
  const { connection, key } = session
  if (connection === null) return
  const seqNo = session.sent * 2 + (isContent ? 1 : 0)
  if (isContent) session.sent++
  const messageId = nextMessageId(isAnswer)
  const salt = key.salts.at(-1) ?? Long.ZERO
  connection.send(sealEnvelope(key.bytes, { body, messageId, salt, seqNo, sessionId: session.id }))
}

const notify = (session: Session, message: mtp.TlObject, isContent = false) =>
  print(session, write(message), true, isContent)

const hearing = (key: AuthKey) =>
  [...key.sessions.values()].filter(
    ({ connection, hearsUpdates }) => hearsUpdates && connection !== null,
  )

const pushTo = ({ state }: MessageLayer, keyId: string, updates: tl.TypeUpdates) => {
  const key = state.keys.get(keyId)
  for (const session of key === undefined ? [] : hearing(key)) {
    print(session, write(updates), false, true)
  }
}

const push = (server: MessageLayer, person: Person, updates: tl.TypeUpdates) => {
  for (const key of server.state.keys.values()) {
    if (key.person === person) pushTo(server, key.id, updates)
  }
}

const countCall = ({ person }: AuthKey, method: string) =>
  person?.calls.set(method, (person.calls.get(method) ?? 0) + 1)

const answer = (session: Session, id: Long, value: Answer | mtp.TlObject) => {
  session.requests.set(id.toString(), "answered")
  print(session, writeResult(id, value, gzipSync), true, true)
}

const work = async (
  server: MessageLayer,
  session: Session,
  request: TlObject,
): Promise<Answer | mtp.TlObject> => {
  const { methods, state } = server
  const { key } = session
  const method = methods[request._]
  try {
    if (key.ended !== null) throw new Refused(401, key.ended)
    if (!key.isIntroduced) throw new Refused(400, "CONNECTION_NOT_INITED")
    if (method === undefined) {
      state.complaints.push(`${request._} is not known`)
      throw new Refused(400, "INPUT_METHOD_INVALID")
    }
    const toServer = (dcId: number) => state.ports.get(dcId) ?? 0
    return await method(request as never, {
      state,
      key,
      push: (person, updates) => push(server, person, updates),
      pushTo: (keyId, updates) => pushTo(server, keyId, updates),
      toServer,
    })
  } catch (error) {
    if (!(error instanceof Refused)) {
      state.complaints.push(`${request._} failed: ${String(error)}`)
      return { _: "mt_rpc_error", errorCode: 500, errorMessage: "INTERNAL" }
    }
    return { _: "mt_rpc_error", errorCode: error.code, errorMessage: error.text }
  }
}

const call = async (server: MessageLayer, session: Session, id: Long, wrapped: TlObject) => {
  const { hearsUpdates, introduces, request } = unwrap(wrapped)
  const { key } = session
  if (introduces) key.isIntroduced = true
  if (hearsUpdates) session.hearsUpdates = true
  key.max = Math.max(key.max, hearing(key).length)
  const outcome = server.state.orders.take(request._, key.person?.phone ?? null)
  const drops = typeof outcome === "object" && "drop" in outcome ? outcome.drop : null
  if (drops === "before work") return session.connection?.drop()
  session.requests.set(id.toString(), "working")
  notify(session, { _: "mt_msgs_ack", msgIds: [id] })
  if (outcome === "lose") return
  if (typeof outcome === "object" && "error" in outcome) {
    const { code: errorCode, error: errorMessage } = outcome
    return answer(session, id, { _: "mt_rpc_error", errorCode, errorMessage })
  }
  if (typeof outcome === "object" && "revoke" in outcome) {
    endSessions(server.state, key.person, outcome.revoke)
  }
  const result = await work(server, session, request)
  countCall(key, request._)
  if (outcome === "withhold") return
  if (outcome === "hold") {
    server.state.pending.push(() => answer(session, id, result))
    return
  }
  if (drops === null) return answer(session, id, result)
  session.requests.set(id.toString(), "answered")
  session.connection?.drop()
}

/** Future salts, accepted from now on. */
const futureSalts = ({ key }: Session, requestId: Long, count: number): Uint8Array => {
  const now = secondsNow()
  const input = Array.from({ length: Math.min(count, saltsGiven) }, randomLong)
  key.salts = [...input, key.salts.at(-1) ?? Long.ZERO]
  const salts = input.map((salt, index) => ({ salt, since: now + (index + 1) * saltSeconds }))
  return writeFutureSalts(requestId, now, salts, saltSeconds * 2)
}

/** One byte for each request: unknown, received, or received and answered. */
const states = ({ requests }: Session, ids: ReadonlyArray<Long>): Uint8Array =>
  Uint8Array.from(ids, (id) => {
    const known = requests.get(id.toString())
    if (known === undefined) return 1
    return known === "working" ? 4 : 4 | 64
  })

const take = (server: MessageLayer, session: Session, { body, messageId }: Item): void => {
  const { state } = server
  const message = read(body) as mtp.TlObject
  switch (message._) {
    case "mt_msgs_ack":
    case "mt_http_wait":
      return
    case "mt_ping_delay_disconnect":
      // Telegram closes the connection after that time unless another such ping comes.
      session.key.pings++
      session.connection?.dropAfter(message.disconnectDelay * state.disconnectSecondMillis)
      return notify(session, { _: "mt_pong", msgId: messageId, pingId: message.pingId })
    case "mt_ping":
      return notify(session, { _: "mt_pong", msgId: messageId, pingId: message.pingId })
    case "mt_get_future_salts":
      return print(session, futureSalts(session, messageId, message.num), true, false)
    case "mt_msgs_state_req": {
      const info = states(session, message.msgIds)
      return notify(session, { _: "mt_msgs_state_info", reqMsgId: messageId, info })
    }
    case "mt_rpc_drop_answer":
      return answer(session, messageId, { _: "mt_rpc_answer_unknown" })
    case "mt_destroy_session":
      session.key.sessions.delete(message.sessionId.toString())
      return notify(session, { _: "mt_destroy_session_ok", sessionId: message.sessionId }, true)
    case "mt_destroy_auth_key":
      notify(session, { _: "mt_destroy_auth_key_ok" }, true)
      state.keys.delete(session.key.id)
      return
    default:
      void call(server, session, messageId, message as TlObject).then(state.changed)
  }
}

const getSession = (key: AuthKey, id: Long, connection: Connection, first: Long): Session => {
  const name = id.toString()
  const known = key.sessions.get(name)
  const session: Session = known ?? {
    id,
    key,
    connection,
    sent: 0,
    hearsUpdates: false,
    requests: new Map(),
  }
  session.connection = connection
  if (known !== undefined) return session
  key.sessions.set(name, session)
  const serverSalt = key.salts.at(-1) ?? Long.ZERO
  const created = { firstMsgId: first, uniqueId: randomLong(), serverSalt }
  notify(session, { _: "mt_new_session_created", ...created }, true)
  return session
}

/** Counts connections that receive updates. Two at a time are two processes with one key. */
const noteUse = ({ open }: MessageLayer, key: AuthKey, connection: Connection) => {
  if (key.latest === connection) return
  if (connection.hasHeardUpdates) {
    if (key.latest !== null && open.has(key.latest)) key.mixed++
    return
  }
  connection.hasHeardUpdates = true
  key.started++
  key.latest = connection
}

const receiveEncrypted = (server: MessageLayer, connection: Connection, frame: Buffer) => {
  const key = server.state.keys.get(frame.subarray(0, 8).toString("hex"))
  if (key === undefined || key.dcId !== connection.dcId) return connection.fail(-404)
  const opened = openEnvelope(key.bytes, frame)
  const items = getItems(opened)
  if (!key.salts.some((salt) => salt.eq(opened.salt))) {
    const stranger = { id: opened.sessionId, key, connection, sent: 0 }
    return notify(
      { ...stranger, hearsUpdates: false, requests: new Map() },
      {
        _: "mt_bad_server_salt",
        badMsgId: opened.messageId,
        badMsgSeqno: opened.seqNo,
        errorCode: 48,
        newServerSalt: key.salts.at(-1) ?? Long.ZERO,
      },
    )
  }
  const [first = opened] = items.toSorted((a, b) => a.messageId.compare(b.messageId))
  const session = getSession(key, opened.sessionId, connection, first.messageId)
  for (const item of items) take(server, session, item)
  if (session.hearsUpdates) noteUse(server, key, connection)
}

const addKey = ({ state }: MessageLayer, dcId: number, bytes: Uint8Array, salt: Long): AuthKey => {
  const key: AuthKey = {
    id: getKeyId(bytes),
    bytes,
    dcId,
    salts: [salt],
    person: null,
    awaited: null,
    ended: null,
    isIntroduced: false,
    sessions: new Map(),
    max: 0,
    started: 0,
    latest: null,
    mixed: 0,
    pings: 0,
  }
  state.keys.set(key.id, key)
  return key
}

const receivePlain = (server: MessageLayer, connection: Connection, frame: Buffer) => {
  const { exchanges, serverKey } = server
  const request = read(frame.subarray(20))
  const known = request._ === "mt_req_pq_multi" ? undefined : exchanges.get(connection)
  const exchange =
    known ??
    makeExchange(serverKey, ({ key, salt }) => void addKey(server, connection.dcId, key, salt))
  exchanges.set(connection, exchange)
  const body = write(exchange(request))
  const head = Buffer.alloc(20)
  const id = nextMessageId(true)
  head.writeInt32LE(id.low, 8)
  head.writeInt32LE(id.high, 12)
  head.writeUInt32LE(body.length, 16)
  connection.send(Buffer.concat([head, body]))
}

const openConnection = ({ open, state }: MessageLayer, connection: Connection) => {
  open.add(connection)
  state.changed()
}

const receiveFrame = (server: MessageLayer, connection: Connection, bytes: Buffer) => {
  try {
    const isPlain = bytes.subarray(0, 8).toString("hex") === noKey
    if (isPlain) receivePlain(server, connection, bytes)
    else receiveEncrypted(server, connection, bytes)
  } catch (error) {
    server.state.complaints.push(`a frame failed: ${String(error)}`)
    connection.drop()
  }
  server.state.changed()
}

const closeConnection = ({ exchanges, open, state }: MessageLayer, connection: Connection) => {
  open.delete(connection)
  exchanges.delete(connection)
  for (const { sessions } of state.keys.values()) {
    for (const session of sessions.values()) {
      if (session.connection === connection) session.connection = null
    }
  }
  state.changed()
}

export const makeSessions = (
  state: ServerState,
  serverKey: ServerKey,
  methods: Readonly<Record<string, Method>>,
) => {
  const open = new Set<Connection>()
  const server: MessageLayer = { state, serverKey, methods, open, exchanges: new Map() }
  const listeners: Listeners = {
    opened: (connection) => openConnection(server, connection),
    frame: (connection, frame) => receiveFrame(server, connection, frame),
    closed: (connection) => closeConnection(server, connection),
  }
  return {
    listeners,
    open,
    push: (person: Person, updates: tl.TypeUpdates) => push(server, person, updates),
    pushTo: (keyId: string, updates: tl.TypeUpdates) => pushTo(server, keyId, updates),
    hearing,
    addKey: (dcId: number, bytes: Uint8Array, salt: Long) => addKey(server, dcId, bytes, salt),
  }
}
