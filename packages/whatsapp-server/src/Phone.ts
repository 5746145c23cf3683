/**
 * A person's phone: a real Signal device, over the library's own repository. It decrypts messages, opens
 * their media, and remembers what it shows. It shows each message id once.
 */
import {
  addTransactionCapability,
  aesDecryptWithIV,
  Curve,
  DEFAULT_CONNECTION_CONFIG,
  encodeWAMessage,
  getMediaKeys,
  hmacSign,
  initAuthCreds,
  normalizeMessageContent,
  proto,
  sha256,
  unpadRandomMax16,
} from "baileys"
import type { SignalDataSet, SignalDataTypeMap, SignalKeyStore, SignedKeyPair } from "baileys"
import type { Bundle } from "./deviceKeys.ts"
import { silentLogger } from "./quiet.ts"

export interface Media {
  readonly kind: "image" | "video" | "document" | "audio"
  readonly mimetype: string | undefined
  readonly fileName: string | undefined
  /** The file before sealing; `undefined` if it is missing or does not open. */
  readonly bytes: Uint8Array | undefined
}

export interface PublicMessage {
  readonly id: string
  /** The sender's number. */
  readonly from: string
  /** The target if it is not this phone: a group's id, or the recipient of the person's own device. */
  readonly chat: string | undefined
  /** Text or caption. */
  readonly text: string | undefined
  readonly media: Media | undefined
  readonly message: proto.IMessage
  /** How often it arrived; it is shown once. */
  readonly arrivals: number
}

export interface Envelope {
  readonly id: string
  readonly from: string
  /** The sending device's LID, which identifies its sessions. */
  readonly author: string
  readonly group: string | undefined
  readonly sealed: ReadonlyArray<{ readonly type: string; readonly bytes: Uint8Array }>
}

export interface Phone {
  readonly identity: ReturnType<typeof Curve.generateKeyPair>
  readonly registrationId: number
  readonly displayed: ReadonlyMap<string, PublicMessage>
  readonly bundle: () => Promise<Bundle>
  /** Decrypts and shows; `undefined` if it could not. */
  readonly receive: (
    envelope: Envelope,
    media: ReadonlyMap<string, Buffer>,
  ) => Promise<proto.IMessage | undefined>
  /** Encrypts for a linked device; starts a session from the bundle if there is none, or `isNew`. */
  readonly seal: (
    to: string,
    message: proto.IMessage,
    bundle: () => Bundle,
    isNew?: boolean,
  ) => Promise<{ readonly type: string; readonly ciphertext: Uint8Array }>
  /** Encrypts for a group, with the author's address; `key` opens it and all later messages. */
  readonly sealForGroup: (
    group: string,
    author: string,
    message: proto.IMessage,
  ) => Promise<{ readonly ciphertext: Uint8Array; readonly key: Uint8Array }>
  /** The key of the group's next messages. */
  readonly groupKey: (group: string, author: string) => Promise<Uint8Array>
  /** Whether the device needs the group's key; it has it from then on. */
  readonly isFirst: (group: string, to: string) => boolean
  /** Forgets sessions that others started: the next message to it is unreadable. */
  readonly loseSessions: () => void
  readonly close: () => void
}

const makeKeyStore = () => {
  const stored = new Map<string, unknown>()
  const store: SignalKeyStore = {
    get: <T extends keyof SignalDataTypeMap>(type: T, ids: Array<string>) => {
      const found: Record<string, SignalDataTypeMap[T]> = {}
      for (const id of ids) {
        const value = stored.get(`${type}/${id}`)
        if (value !== undefined) found[id] = value as SignalDataTypeMap[T]
      }
      return found
    },
    set: (data: SignalDataSet) => {
      for (const [type, values] of Object.entries(data)) {
        for (const [id, value] of Object.entries(values ?? {})) {
          if (value === null) stored.delete(`${type}/${id}`)
          else stored.set(`${type}/${id}`, value)
        }
      }
    },
  }
  return { stored, store }
}

/** A byte in front of each key names the curve. */
const withCurve = (key: Uint8Array) => Buffer.concat([Buffer.from([5]), key])

const toSession = (bundle: Bundle) => ({
  registrationId: bundle.registrationId,
  identityKey: withCurve(bundle.identity),
  signedPreKey: {
    keyId: bundle.signedKey.id,
    publicKey: withCurve(bundle.signedKey.value),
    signature: bundle.signedKey.signature,
  },
  ...(bundle.preKey === undefined
    ? {}
    : {
        preKey: { keyId: bundle.preKey.id, publicKey: withCurve(bundle.preKey.value) },
      }),
})

/** The field of a message's text depends on its other content. */
const findText = (content: proto.IMessage | undefined) =>
  content?.conversation ??
  content?.extendedTextMessage?.text ??
  content?.imageMessage?.caption ??
  content?.videoMessage?.caption ??
  content?.documentMessage?.caption ??
  undefined

interface Pointer {
  readonly mediaKey?: Uint8Array | null
  readonly directPath?: string | null
  readonly fileSha256?: Uint8Array | null
  readonly fileEncSha256?: Uint8Array | null
}

const macLength = 10

const isSame = (bytes: Uint8Array, expected: Uint8Array | null | undefined) =>
  Buffer.compare(bytes, expected ?? Buffer.alloc(0)) === 0

/** The file behind a pointer, if it matches everything that the pointer says. */
const openFile = async (
  kind: Media["kind"],
  pointer: Pointer,
  files: ReadonlyMap<string, Buffer>,
): Promise<Uint8Array | undefined> => {
  const sealed = files.get(pointer.directPath ?? "")
  if (sealed === undefined || !isSame(sha256(sealed), pointer.fileEncSha256)) return undefined
  const { cipherKey, iv, macKey } = await getMediaKeys(pointer.mediaKey, kind)
  const body = sealed.subarray(0, -macLength)
  const mac = hmacSign(Buffer.concat([iv, body]), macKey ?? Buffer.alloc(0)).subarray(0, macLength)
  if (!isSame(mac, sealed.subarray(-macLength))) return undefined
  const plain = aesDecryptWithIV(body, Buffer.from(cipherKey), Buffer.from(iv))
  return isSame(sha256(plain), pointer.fileSha256) ? plain : undefined
}

const openMedia = async (
  content: proto.IMessage,
  files: ReadonlyMap<string, Buffer>,
): Promise<Media | undefined> => {
  const found = (
    [
      ["image", content.imageMessage],
      ["video", content.videoMessage],
      ["document", content.documentMessage],
      ["audio", content.audioMessage],
    ] as const
  ).find(([, pointer]) => pointer !== null && pointer !== undefined)
  if (!found?.[1]) return undefined
  const [kind, pointer] = found
  return {
    kind,
    mimetype: pointer.mimetype ?? undefined,
    fileName: "fileName" in pointer ? (pointer.fileName ?? undefined) : undefined,
    bytes: await openFile(kind, pointer, files),
  }
}

type Repository = ReturnType<typeof DEFAULT_CONNECTION_CONFIG.makeSignalRepository>

const open = async (
  repository: Repository,
  envelope: Envelope,
  type: string,
  bytes: Uint8Array,
) => {
  const { author, group } = envelope
  if (type === "skmsg") {
    return repository.decryptGroupMessage({ group: group ?? "", authorJid: author, msg: bytes })
  }
  const known = type === "pkmsg" ? "pkmsg" : "msg"
  return repository.decryptMessage({ jid: author, type: known, ciphertext: bytes })
}

/** Decrypts everything in one stanza into one message. */
const openAll = async (repository: Repository, envelope: Envelope) => {
  const message: proto.IMessage = {}
  for (const { bytes, type } of envelope.sealed) {
    const plain = unpadRandomMax16(await open(repository, envelope, type, bytes))
    const part = proto.Message.decode(plain)
    if (part.senderKeyDistributionMessage) {
      await repository.processSenderKeyDistributionMessage({
        authorJid: envelope.author,
        item: part.senderKeyDistributionMessage,
      })
    }
    Object.assign(message, part)
  }
  return message
}

const show = async (
  visible: Map<string, PublicMessage>,
  { from, group, id }: Envelope,
  message: proto.IMessage,
  media: ReadonlyMap<string, Buffer>,
) => {
  const inner = message.deviceSentMessage?.message ?? message
  const content = normalizeMessageContent(inner)
  if (content === undefined || content.protocolMessage) return
  visible.set(id, {
    id,
    from,
    chat: group ?? message.deviceSentMessage?.destinationJid ?? undefined,
    text: findText(content) ?? undefined,
    media: await openMedia(content, media),
    message: inner,
    arrivals: 1,
  })
}

/** The phone's keys for groups, and the devices that have them. */
const makeGroupKeys = (repository: Repository) => {
  const haveKey = new Set<string>()
  const sealForGroup: Phone["sealForGroup"] = async (group, author, message) => {
    const data = encodeWAMessage(message)
    const sealed = await repository.encryptGroupMessage({ group, meId: author, data })
    return { ciphertext: sealed.ciphertext, key: sealed.senderKeyDistributionMessage }
  }
  const groupKey: Phone["groupKey"] = (group, author) =>
    repository.getSenderKeyDistributionMessage({ group, meId: author })
  const isFirst: Phone["isFirst"] = (group, to) => {
    const device = `${group} ${to}`
    const isNew = !haveKey.has(device)
    haveKey.add(device)
    return isNew
  }
  return { sealForGroup, groupKey, isFirst, forget: () => haveKey.clear() }
}

/** A new phone may still show the old one's messages. */
export const makePhone = (before: ReadonlyMap<string, PublicMessage> = new Map()): Phone => {
  const creds = initAuthCreds()
  const signedKey: SignedKeyPair = creds.signedPreKey
  const { stored, store } = makeKeyStore()
  const keys = addTransactionCapability(store, silentLogger, {
    maxCommitRetries: 1,
    delayBetweenTriesMs: 1,
  })
  const repository = DEFAULT_CONNECTION_CONFIG.makeSignalRepository(
    { creds, keys },
    silentLogger,
    undefined,
  )
  const displayed = new Map(before)
  const groupKeys = makeGroupKeys(repository)
  let lastPreKey = 0

  return {
    identity: {
      public: creds.signedIdentityKey.public,
      private: creds.signedIdentityKey.private,
    },
    registrationId: creds.registrationId,
    displayed,
    bundle: async () => {
      const preKey = Curve.generateKeyPair()
      const id = ++lastPreKey
      await store.set({ "pre-key": { [id]: preKey } })
      return {
        registrationId: creds.registrationId,
        identity: creds.signedIdentityKey.public,
        signedKey: {
          id: signedKey.keyId,
          value: signedKey.keyPair.public,
          signature: signedKey.signature,
        },
        preKey: { id, value: preKey.public },
      }
    },
    receive: async (envelope, media) => {
      try {
        const message = await openAll(repository, envelope)
        const known = displayed.get(envelope.id)
        if (known === undefined) await show(displayed, envelope, message, media)
        else displayed.set(envelope.id, { ...known, arrivals: known.arrivals + 1 })
        return message
      } catch {
        return undefined
      }
    },
    seal: async (to, message, bundle, isNew = false) => {
      const { exists } = await repository.validateSession(to)
      if (!exists || isNew)
        await repository.injectE2ESession({ jid: to, session: toSession(bundle()) as never })
      return repository.encryptMessage({ jid: to, data: encodeWAMessage(message) })
    },
    sealForGroup: groupKeys.sealForGroup,
    groupKey: groupKeys.groupKey,
    isFirst: groupKeys.isFirst,
    loseSessions: () => {
      groupKeys.forget()
      for (const key of stored.keys()) {
        if (key.startsWith("session/") || key.startsWith("sender-key/")) stored.delete(key)
      }
    },
    close: () => repository.close?.(),
  }
}
